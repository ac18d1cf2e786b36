// server PORT POOL: packs small messages for each request, with writers that are kept or not.
package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"net/http"
	"os"
	"sync"
)

const messages = 50

var kept = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

func packed(message []byte, pool bool) int {
	var out bytes.Buffer
	var writer *gzip.Writer
	if pool {
		writer = kept.Get().(*gzip.Writer)
		defer kept.Put(writer)
		writer.Reset(&out)
	} else {
		writer = gzip.NewWriter(&out)
	}
	writer.Write(message)
	writer.Close()
	return out.Len()
}

func main() {
	pool := os.Args[2] == "true"
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		total := 0
		for number := 0; number < messages; number++ {
			message := fmt.Appendf(nil, `{"number": %d, "event": "stock.changed", "items": [%d, %d, %d]}`, number, number*7, number*11, number*13)
			total += packed(bytes.Repeat(message, 4), pool)
		}
		fmt.Fprintf(answer, "%d bytes\n", total)
	})
	if err := http.ListenAndServe("127.0.0.1:"+os.Args[1], nil); err != nil {
		panic(err)
	}
}
