// gateway PORT UPSTREAM: asks an upstream for each request, over a connection of its own.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	http.HandleFunc("/", func(answer http.ResponseWriter, _ *http.Request) {
		price, err := client.Get("http://127.0.0.1:" + os.Args[2] + "/price")
		if err != nil {
			http.Error(answer, err.Error(), http.StatusBadGateway)
			return
		}
		defer price.Body.Close()
		body, _ := io.ReadAll(price.Body)
		answer.Write(body)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
