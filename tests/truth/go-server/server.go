// Asks an upstream for every request, in a goroutine of its own.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
)

func main() {
	upstream := "http://127.0.0.1:" + os.Getenv("UPSTREAM") + "/"
	http.DefaultTransport.(*http.Transport).MaxIdleConnsPerHost = 64
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		answer, err := http.Get(upstream)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadGateway)
			return
		}
		defer answer.Body.Close()
		body, _ := io.ReadAll(answer.Body)
		writer.Write(body)
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
