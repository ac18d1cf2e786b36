// PORT SERVICE CLOSES: shows articles of another service; without one that is not there.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	service, closes := "http://127.0.0.1:"+os.Args[2], os.Args[3] == "1"
	transport := &http.Transport{MaxConnsPerHost: 8, MaxIdleConnsPerHost: 8}
	client := &http.Client{Transport: transport, Timeout: 2 * time.Second}
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		answer, err := client.Get(service + r.URL.Path)
		if err != nil {
			fmt.Fprintln(w, "not now")
			return
		}
		if answer.StatusCode != 200 {
			if closes {
				answer.Body.Close()
			}
			fmt.Fprintln(w, "no such article")
			return
		}
		defer answer.Body.Close()
		io.Copy(w, answer.Body)
	})
	http.ListenAndServe("127.0.0.1:"+os.Args[1], nil)
}
