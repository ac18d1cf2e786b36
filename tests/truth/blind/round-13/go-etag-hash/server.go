// server PORT FILE hash|time: tells whether a download has changed, by a hash of it or by its time and size.
package main

import (
	"crypto/md5"
	"fmt"
	"io"
	"net/http"
	"os"
)

func hashed(path string) string {
	file, err := os.Open(path)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	hash := md5.New()
	if _, err := io.Copy(hash, file); err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))
}

func timed(path string) string {
	status, err := os.Stat(path)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf("%x-%x", status.ModTime().UnixNano(), status.Size())
}

func main() {
	tag := timed
	if os.Args[3] == "hash" {
		tag = hashed
	}
	http.HandleFunc("/", func(writer http.ResponseWriter, _ *http.Request) {
		fmt.Fprintln(writer, tag(os.Args[2]))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
