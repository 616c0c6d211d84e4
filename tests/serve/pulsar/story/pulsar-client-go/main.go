// The story of Story.java, told by Pulsar's Go client.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/apache/pulsar-client-go/pulsar"
	"github.com/apache/pulsar-client-go/pulsar/log"
)

var states = map[pulsar.TxnState]string{pulsar.TxnCommitted: "COMMITTED", pulsar.TxnAborted: "ABORTED"}

func had[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// receive is the next message, or nil where none comes in this time.
func receive(from pulsar.Consumer, patience time.Duration) pulsar.Message {
	within, done := context.WithTimeout(context.Background(), patience)
	defer done()
	came, err := from.Receive(within)
	if within.Err() != nil {
		return nil
	}
	return had(came, err)
}

func text(came pulsar.Message) string {
	if came == nil {
		return "nothing"
	}
	return string(came.Payload())
}

func main() {
	run, background := os.Args[2], context.Background()
	client := had(pulsar.NewClient(pulsar.ClientOptions{
		URL: "pulsar://" + os.Args[1], EnableTransaction: true, OperationTimeout: 20 * time.Second,
		Logger: log.NewLoggerWithSlog(slog.New(slog.DiscardHandler)),
	}))
	defer client.Close()
	orders := had(client.Subscribe(pulsar.ConsumerOptions{
		Topic: run + "-orders", SubscriptionName: "workers", Type: pulsar.Shared,
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	}))
	in := had(client.CreateProducer(pulsar.ProducerOptions{Topic: run + "-orders"}))
	out := had(client.CreateProducer(pulsar.ProducerOptions{Topic: run + "-payments", SendTimeout: -1}))
	payments := had(client.Subscribe(pulsar.ConsumerOptions{
		Topic: run + "-payments", SubscriptionName: "billing",
		SubscriptionInitialPosition: pulsar.SubscriptionPositionEarliest,
	}))
	for _, order := range []string{"a", "b", "c"} {
		had(in.Send(background, &pulsar.ProducerMessage{Payload: []byte(order)}))
	}
	for turn := 0; turn < 4; turn++ {
		came := receive(orders, 10*time.Second)
		txn := had(client.NewTransaction(time.Minute))
		had(out.Send(background, &pulsar.ProducerMessage{Payload: came.Payload(), Transaction: txn}))
		check(orders.AckWithTxn(came, txn))
		if turn == 1 {
			fmt.Println("open", text(receive(payments, 500*time.Millisecond)))
			check(txn.Abort(background))
		} else {
			check(txn.Commit(background))
		}
		fmt.Println("turn", turn, states[txn.GetState()])
		if turn == 0 {
			fmt.Println("paid", text(receive(payments, 10*time.Second)))
		}
	}
	paid := []string{}
	for came := receive(payments, 2*time.Second); came != nil; came = receive(payments, 2*time.Second) {
		paid = append(paid, text(came))
	}
	sort.Strings(paid)
	fmt.Printf("paid [%s]\n", strings.Join(paid, ", "))
	fmt.Println("left", text(receive(orders, 2*time.Second)))
}
