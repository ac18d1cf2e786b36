// A service that answers with rates, which it keeps for a while.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"time"
)

type entry struct {
	rate    string
	expires time.Time
}

// Cache keeps what it has fetched.
type Cache struct {
	mutex   sync.Mutex
	entries map[string]entry
	held    bool
}

func fetch(currency string) (string, error) {
	answer, err := http.Get("http://127.0.0.1:" + os.Getenv("RATES") + currency)
	if err != nil {
		return "", err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	return string(body), err
}

// Get returns what is known, or fetches it.
func (cache *Cache) Get(currency string) (string, error) {
	cache.mutex.Lock()
	defer cache.mutex.Unlock()
	known, ok := cache.entries[currency]
	if ok && time.Now().Before(known.expires) {
		return known.rate, nil
	}
	if !cache.held {
		cache.mutex.Unlock()
	}
	rate, err := fetch(currency)
	if !cache.held {
		cache.mutex.Lock()
	}
	if err == nil {
		cache.entries[currency] = entry{rate, time.Now().Add(2 * time.Second)}
	}
	return rate, err
}

func main() {
	cache := &Cache{entries: map[string]entry{}, held: os.Getenv("HELD") == "yes"}
	http.HandleFunc("/rate/", func(writer http.ResponseWriter, request *http.Request) {
		rate, err := cache.Get(request.URL.Path)
		if err != nil {
			http.Error(writer, err.Error(), http.StatusBadGateway)
			return
		}
		fmt.Fprint(writer, rate)
	})
	fmt.Fprintln(os.Stderr, http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
