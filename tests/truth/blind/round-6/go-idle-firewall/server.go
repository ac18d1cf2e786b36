// PORT BACKEND: asks a backend over connections that are kept, and once more by a new one where that fails.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := &http.Client{
		Timeout:   800 * time.Millisecond,
		Transport: &http.Transport{MaxIdleConnsPerHost: 16, IdleConnTimeout: 90 * time.Second},
	}
	ask := func() error {
		answer, err := client.Get("http://127.0.0.1:" + os.Args[2] + "/")
		if err != nil {
			return err
		}
		defer answer.Body.Close()
		_, err = io.ReadAll(answer.Body)
		return err
	}
	http.HandleFunc("/", func(out http.ResponseWriter, _ *http.Request) {
		var err error
		for try := 0; try < 3; try++ {
			if err = ask(); err == nil {
				fmt.Fprintln(out, "ok")
				return
			}
		}
		http.Error(out, err.Error(), 502)
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
