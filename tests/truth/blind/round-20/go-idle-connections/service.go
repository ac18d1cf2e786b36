// Asks another service eight times for each request; "service IDLE" keeps so many idle connections (0: the default).
// "service upstream" is the other one.
package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

func upstream() {
	key, _ := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	certificate, _ := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	server := &http.Server{
		Addr: "127.0.0.1:" + os.Getenv("UPSTREAM"),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			time.Sleep(2 * time.Millisecond)
			fmt.Fprintln(w, "answer")
		}),
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){}, // HTTP/1.1
		TLSConfig:    &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{certificate}, PrivateKey: key}}},
	}
	panic(server.ListenAndServeTLS("", ""))
}

func main() {
	if os.Args[1] == "upstream" {
		upstream()
	}
	idle, _ := strconv.Atoi(os.Args[1])
	client := &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: idle,
		TLSClientConfig:     &tls.Config{InsecureSkipVerify: true},
	}}
	url := "https://127.0.0.1:" + os.Getenv("FAR") + "/"
	handler := func(w http.ResponseWriter, r *http.Request) {
		var group sync.WaitGroup
		for part := 0; part < 8; part++ {
			group.Add(1)
			go func() {
				defer group.Done()
				answer, err := client.Get(url)
				if err != nil {
					panic(err)
				}
				io.Copy(io.Discard, answer.Body)
				answer.Body.Close()
			}()
		}
		group.Wait()
		fmt.Fprintln(w, "done")
	}
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), http.HandlerFunc(handler)))
}
