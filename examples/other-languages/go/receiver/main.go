// Receives the webhooks on a port: LOYALTY_SIGNING_SECRET=… PORT=3000 go run ./receiver
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

// #region receiver
func main() {
	var secrets [][]byte // two during a rotation
	for _, secret := range strings.Split(os.Getenv("LOYALTY_SIGNING_SECRET"), ",") {
		secrets = append(secrets, []byte(secret))
	}
	http.HandleFunc("/webhooks/loyalty", func(response http.ResponseWriter, request *http.Request) {
		// The bytes as they arrived: not parsed, not decoded.
		body, err := io.ReadAll(http.MaxBytesReader(response, request.Body, 1<<20))
		if err != nil {
			response.WriteHeader(http.StatusBadRequest)
			return
		}
		header := strings.Join(request.Header.Values("Service-Signature"), ", ")
		event, err := loyalty.Verify(body, header, secrets, time.Now(), 300*time.Second)
		var rejected loyalty.Rejected
		switch {
		case errors.As(err, &rejected):
			log.Printf("rejected a webhook: %s", rejected)
			response.WriteHeader(http.StatusUnauthorized)
		case err != nil || store(event) != nil:
			response.WriteHeader(http.StatusServiceUnavailable) // the service retries
		default:
			response.WriteHeader(http.StatusNoContent)
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}

func store(event *loyalty.Event) error {
	// Here: insert event.ID into a table with a unique key, and ignore a duplicate.
	log.Printf("received %s %s", event.Type, event.ID)
	return nil
}

// #endregion
