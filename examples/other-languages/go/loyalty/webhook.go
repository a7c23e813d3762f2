// Package loyalty verifies webhooks of the Loyalty Card Issuing Service, with the standard library only.
package loyalty

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
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

var (
	comma          = regexp.MustCompile(`,[ \t]*`)
	timestampForm  = regexp.MustCompile(`^[0-9]{1,12}$`)
	signaturesForm = regexp.MustCompile(`(?i)^[0-9a-f]{64}(,[0-9a-f]{64}){0,4}$`)
)

// Verify returns the event. During a rotation there are two secrets.
func Verify(
	body []byte, header string, secrets [][]byte, now time.Time, tolerance time.Duration,
) (*Event, error) {
	if header == "" {
		return nil, Rejected("missing-signature")
	}
	isWellFormed := len(header) <= 1024
	values := map[string][]string{}
	for _, part := range comma.Split(header, -1) {
		name, value, found := strings.Cut(part, "=")
		isWellFormed = isWellFormed && found && name != ""
		values[name] = append(values[name], value)
	}
	timestamp, signatures := strings.Join(values["t"], ","), strings.Join(values["v1"], ",")
	if !isWellFormed || !timestampForm.MatchString(timestamp) || !signaturesForm.MatchString(signatures) {
		return nil, Rejected("malformed-signature")
	}
	seconds, _ := strconv.ParseInt(timestamp, 10, 64)
	age := now.Truncate(time.Second).Sub(time.Unix(seconds, 0))
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
		fmt.Fprintf(mac, "%s.%s", timestamp, body)
		for _, value := range values["v1"] {
			signature, _ := hex.DecodeString(value)
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
	for name, text := range texts {
		raw := members[name]
		isText := bytes.HasPrefix(raw, []byte(`"`)) && json.Unmarshal(raw, text) == nil
		// Go decodes half of a surrogate pair as U+FFFD, so that two ids could become equal.
		// An event in which U+FFFD itself was sent is rejected too.
		if !isText || strings.ContainsAny(*text, "\x00\uFFFD") {
			return nil, Rejected("invalid-payload")
		}
	}
	if length := len(utf16.Encode([]rune(event.ID))); length == 0 || length > 512 {
		return nil, Rejected("invalid-payload")
	}
	return event, nil
}

// #endregion
