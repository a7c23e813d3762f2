// Receives the webhooks on a port: LOYALTY_SIGNING_SECRET=… PORT=3000 go run ./receiver

// #region receiver
package main

import (
	"errors"
	"io"
	"log"
	"net/http"
	"os"
	"strings"
	"time"

	"example.com/shop/loyalty"
)

func main() {
	var secrets [][]byte // two during a rotation, separated by a comma
	given := os.Getenv("LOYALTY_SIGNING_SECRET")
	for _, secret := range strings.Split(given, ",") {
		secrets = append(secrets, []byte(secret))
	}
	receive := func(w http.ResponseWriter, r *http.Request) {
		// The bytes: not parsed, not decoded.
		body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
		var tooLarge *http.MaxBytesError
		if errors.As(err, &tooLarge) {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			return
		} else if err != nil {
			w.WriteHeader(http.StatusRequestTimeout)
			return
		}
		header := strings.Join(r.Header.Values("Service-Signature"), ", ")
		event, err := loyalty.Verify(
			body, header, secrets, time.Now(), 300*time.Second,
		)
		var rejected loyalty.Rejected
		switch {
		case errors.As(err, &rejected):
			log.Printf("rejected a webhook: %s", rejected)
			w.WriteHeader(http.StatusUnauthorized)
		case err != nil || store(event) != nil:
			w.WriteHeader(http.StatusServiceUnavailable) // the service retries
		default:
			w.WriteHeader(http.StatusNoContent)
		}
	}
	http.HandleFunc("/webhooks/loyalty", receive)
	server := http.Server{
		Addr:        "127.0.0.1:" + os.Getenv("PORT"),
		ReadTimeout: 10 * time.Second, // for the whole request
	}
	log.Fatal(server.ListenAndServe())
}

func store(event *loyalty.Event) error {
	// Insert event.ID into a table with a unique key,
	// and ignore a duplicate.
	log.Printf("%s %s", event.Type, event.ID)
	return nil
}

// #endregion
