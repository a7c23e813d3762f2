// Prints the verdict and the reason for each signature vector: go run ./vectors signatures.json
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"example.com/shop/loyalty"
)

type document struct {
	Version int
	Vectors []struct {
		Name             string
		Body             []byte // base64, which encoding/json decodes
		Secrets          [][]byte
		Header           []string
		NowSeconds       int64
		ToleranceSeconds float64
	}
}

func main() {
	var all document
	text, err := os.ReadFile(os.Args[1])
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil {
		log.Fatal(err)
	}
	if all.Version != 1 {
		log.Fatal("This program reads version 1 of the vectors.")
	}
	for _, vector := range all.Vectors {
		header := strings.Join(vector.Header, ", ") // as HTTP joins several lines of a header
		tolerance := time.Duration(vector.ToleranceSeconds * float64(time.Second))
		_, err := loyalty.Verify(vector.Body, header, vector.Secrets, time.Unix(vector.NowSeconds, 0), tolerance)
		if err == nil {
			fmt.Printf("valid\t-\t%s\n", vector.Name)
		} else {
			fmt.Printf("invalid\t%s\t%s\n", err, vector.Name)
		}
	}
}
