// Answers every request 5 ms after it has come, in a goroutine of its own.
package main

import (
	"io"
	"log"
	"net/http"
	"os"
	"time"
)

func main() {
	http.HandleFunc("/", func(writer http.ResponseWriter, request *http.Request) {
		time.Sleep(5 * time.Millisecond)
		io.WriteString(writer, "done\n")
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
