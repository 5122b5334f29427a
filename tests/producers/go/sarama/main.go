// Sarama's producer with its default partitioner; the interface is in ../../README.md.
package main

import (
	"fencepost/producers/keys"

	"github.com/IBM/sarama"
)

func produce(bootstrap, topic string, keys [][]byte) error {
	config := sarama.NewConfig()
	config.Producer.RequiredAcks = sarama.WaitForAll
	config.Producer.Return.Successes = true
	producer, err := sarama.NewSyncProducer([]string{bootstrap}, config)
	if err != nil {
		return err
	}
	messages := make([]*sarama.ProducerMessage, 0, len(keys))
	for _, key := range keys {
		messages = append(messages, &sarama.ProducerMessage{
			Topic: topic, Key: sarama.ByteEncoder(key), Value: sarama.StringEncoder("v")})
	}
	if err := producer.SendMessages(messages); err != nil {
		return err
	}
	return producer.Close()
}

func main() {
	keys.Main(produce)
}
