// Package loyalty verifies webhooks of the Loyalty Card Issuing Service, with the standard library only.
package loyalty

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// #region verify

// Rejected is the reason: log it, and do not send it in the response.
type Rejected string

func (reason Rejected) Error() string { return string(reason) }

var timestampForm = regexp.MustCompile(`^[0-9]{1,12}$`)

// Verify returns the event. During a rotation there are two secrets.
func Verify(
	body []byte, header string, secrets [][]byte, now time.Time, tolerance time.Duration,
) (*Event, error) {
	if header == "" {
		return nil, Rejected("missing-signature")
	}
	var times []string
	var signatures [][]byte
	isWellFormed := len(header) <= 1024
	for _, part := range strings.Split(header, ",") {
		name, value, found := strings.Cut(strings.TrimLeft(part, " \t"), "=")
		isWellFormed = isWellFormed && found && name != ""
		if name == "t" {
			times = append(times, value)
		} else if name == "v1" {
			signature, err := hex.DecodeString(value)
			isWellFormed = isWellFormed && err == nil && len(signature) == sha256.Size
			signatures = append(signatures, signature)
		}
	}
	isWellFormed = isWellFormed && len(times) == 1 && timestampForm.MatchString(times[0])
	if !isWellFormed || len(signatures) == 0 || len(signatures) > 5 {
		return nil, Rejected("malformed-signature")
	}
	seconds, _ := strconv.ParseInt(times[0], 10, 64)
	age := time.Duration(now.Unix()-seconds) * time.Second
	if age > tolerance {
		return nil, Rejected("stale")
	} else if age < -tolerance {
		return nil, Rejected("future")
	}
	matches := false // all are compared, so that the time does not depend on which one matches
	for _, secret := range secrets {
		if len(secret) == 0 {
			return nil, errors.New("the signing secret is empty")
		}
		mac := hmac.New(sha256.New, secret)
		mac.Write([]byte(times[0] + "."))
		mac.Write(body)
		for _, signature := range signatures {
			matches = hmac.Equal(mac.Sum(nil), signature) || matches
		}
	}
	if !matches {
		return nil, Rejected("mismatch")
	}
	return readEvent(body)
}

// #endregion

// #region event

// Event has the members of every event. The form of Data depends on Type.
type Event struct {
	ID, Type, CreatedAt string
	Data                json.RawMessage
}

func readEvent(body []byte) (*Event, error) {
	var members map[string]json.RawMessage // exact names: a struct would also match "ID"
	body = bytes.TrimPrefix(body, []byte("\uFEFF"))
	if !utf8.Valid(body) || json.Unmarshal(body, &members) != nil {
		return nil, Rejected("invalid-payload")
	}
	event := &Event{Data: members["data"]}
	texts := map[string]*string{"id": &event.ID, "type": &event.Type, "createdAt": &event.CreatedAt}
	for name, target := range texts {
		raw := members[name]
		isText := bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, target) == nil
		if !isText || strings.Contains(*target, "\x00") {
			return nil, Rejected("invalid-payload")
		}
		// Go decodes half of a surrogate pair as U+FFFD, so that two ids could become equal.
		sent := bytes.Count(raw, []byte("\uFFFD"))
		sent += bytes.Count(bytes.ToLower(raw), []byte(`\ufffd`))
		if strings.Count(*target, "\uFFFD") > sent {
			return nil, Rejected("invalid-payload")
		}
	}
	if length := len(utf16.Encode([]rune(event.ID))); length == 0 || length > 512 {
		return nil, Rejected("invalid-payload")
	}
	return event, nil
}

// #endregion
