// Says which addresses this host has.
package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
)

func ofEach() []net.Addr {
	var found []net.Addr
	interfaces, _ := net.Interfaces()
	for _, each := range interfaces {
		addresses, _ := each.Addrs()
		found = append(found, addresses...)
	}
	return found
}

func ownAddresses() []net.Addr {
	if os.Getenv("LISTS") == "each" {
		return ofEach()
	}
	found, _ := net.InterfaceAddrs()
	return found
}

func main() {
	http.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "%d addresses\n", len(ownAddresses()))
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
