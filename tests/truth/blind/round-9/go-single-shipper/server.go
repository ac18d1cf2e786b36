// server PORT AUDIT SHIPPERS: answers when a record of the request is with the audit service.
package main

import (
	"io"
	"net/http"
	"os"
	"strconv"
)

func ship(address string, records chan chan error) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
	for done := range records {
		answer, err := client.Get(address)
		if err == nil {
			io.Copy(io.Discard, answer.Body)
			answer.Body.Close()
		}
		done <- err
	}
}

func main() {
	records := make(chan chan error)
	shippers, _ := strconv.Atoi(os.Args[3])
	for i := 0; i < shippers; i++ {
		go ship("http://127.0.0.1:"+os.Args[2]+"/", records)
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		done := make(chan error)
		records <- done
		if err := <-done; err != nil {
			http.Error(answer, err.Error(), 502)
			return
		}
		io.WriteString(answer, "done\n")
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
