// KafkaJS 2's producer with its default partitioner, or one that it exports by name; the interface is in ../README.md.
'use strict'

const { readFileSync } = require('fs')
const { Kafka, Partitioners, logLevel } = require('kafkajs')

async function produce(bootstrap, topic, createPartitioner) {
	const lines = readFileSync(0, 'latin1').split('\n').slice(0, -1)
	const messages = lines.map(line => ({ key: Buffer.from(line, 'hex'), value: 'v' }))
	const producer = new Kafka({ brokers: [bootstrap], logLevel: logLevel.NOTHING }).producer({ createPartitioner })

	await producer.connect()
	try {
		await producer.send({ topic, messages, acks: -1 })
	} finally {
		await producer.disconnect()
	}
}

const [bootstrap, topic, partitioner] = process.argv.slice(2)
if (!topic || (partitioner && !Partitioners[partitioner])) {
	console.error(`usage: produce.js BOOTSTRAP TOPIC [${Object.keys(Partitioners).join('|')}]`)
	process.exit(64)
}
produce(bootstrap, topic, Partitioners[partitioner]).catch(error => {
	console.error(`produce.js: ${error}`)
	process.exitCode = 1
})
