// server PORT kept|loaded: a list of events, each with its time where it takes place.
package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

var names = []string{"Europe/Berlin", "America/New_York", "Asia/Tokyo", "Australia/Sydney", "America/Sao_Paulo"}

var zones sync.Map

func keptZone(name string) *time.Location {
	if zone, found := zones.Load(name); found {
		return zone.(*time.Location)
	}
	zone := loadedZone(name)
	zones.Store(name, zone)
	return zone
}

func loadedZone(name string) *time.Location {
	zone, err := time.LoadLocation(name)
	if err != nil {
		panic(err)
	}
	return zone
}

func main() {
	zone := keptZone
	if os.Args[2] == "loaded" {
		zone = loadedZone
	}
	http.HandleFunc("/", func(answer http.ResponseWriter, request *http.Request) {
		var page strings.Builder
		for event := 0; event < 600; event++ {
			at := time.Unix(1700000000+int64(event)*3600, 0).In(zone(names[event%len(names)]))
			fmt.Fprintf(&page, "%d %s\n", event, at.Format("Mon 2 Jan 15:04"))
		}
		answer.Header().Set("Content-Length", fmt.Sprint(page.Len()))
		fmt.Fprint(answer, page.String())
	})
	panic(http.ListenAndServe("127.0.0.1:"+os.Args[1], nil))
}
