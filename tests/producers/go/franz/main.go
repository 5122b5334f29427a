// franz-go's producer with its default partitioner; the interface is in ../../README.md.
package main

import (
	"context"

	"fencepost/producers/keys"

	"github.com/twmb/franz-go/pkg/kgo"
)

func produce(bootstrap, topic string, keys [][]byte) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap), kgo.RequiredAcks(kgo.AllISRAcks()))
	if err != nil {
		return err
	}
	defer client.Close()
	records := make([]*kgo.Record, 0, len(keys))
	for _, key := range keys {
		records = append(records, &kgo.Record{Topic: topic, Key: key, Value: []byte("v")})
	}
	return client.ProduceSync(context.Background(), records...).FirstErr()
}

func main() {
	keys.Main(produce)
}
