// The story of TransactionStory.java, told by RocketMQ's Go client.
package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"sync"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
	"github.com/apache/rocketmq-client-go/v2/rlog"
)

var names = map[primitive.LocalTransactionState]string{
	primitive.CommitMessageState:   "COMMIT_MESSAGE",
	primitive.RollbackMessageState: "ROLLBACK_MESSAGE",
	primitive.UnknowState:          "UNKNOW",
}
var statuses = map[primitive.SendStatus]string{primitive.SendOK: "SEND_OK"}
var mutex sync.Mutex

func tell(who string, what string, said string) {
	mutex.Lock()
	defer mutex.Unlock()
	fmt.Printf("%s\t%s\t%s\n", who, what, said)
}

type listener struct{ asked chan bool }

func (l *listener) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	for state, name := range names {
		if name == string(m.Body) {
			return state
		}
	}
	panic(string(m.Body))
}

func (l *listener) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	times := m.GetProperty("TRANSACTION_CHECK_TIMES")
	tell("producer", "asked about "+string(m.Body), times+" COMMIT_MESSAGE")
	l.asked <- true
	return primitive.CommitMessageState
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	rlog.SetLogLevel("error")
	rlog.SetOutputPath(os.DevNull)
	servers := primitive.NamesrvAddr{os.Args[1]}
	prefix := regexp.MustCompile("[^A-Za-z0-9_-]").ReplaceAllString(os.Args[2], "-")
	topic := prefix + os.Args[3]
	told := &listener{make(chan bool, 1)}
	sender, err := rocketmq.NewTransactionProducer(told,
		producer.WithNameServer(servers), producer.WithGroupName(prefix+"order-service"))
	check(err)
	check(sender.Start())
	for _, name := range []string{"COMMIT_MESSAGE", "ROLLBACK_MESSAGE", "UNKNOW"} {
		message := primitive.NewMessage(topic, []byte(name))
		message.WithTag("tag").WithKeys([]string{"key " + name})
		result, err := sender.SendMessageInTransaction(context.Background(), message)
		check(err)
		tell("producer", "sends "+name, statuses[result.Status]+" "+names[result.State])
	}
	fmt.Println("sent")
	<-told.asked
	reader, err := rocketmq.NewPushConsumer(
		consumer.WithNameServer(servers), consumer.WithGroupName(prefix+"stock"),
		consumer.WithConsumeFromWhere(consumer.ConsumeFromFirstOffset),
		consumer.WithConsumeGoroutineNums(1))
	check(err)
	got := make(chan bool, 16)
	tags := consumer.MessageSelector{Type: consumer.TAG, Expression: "tag"}
	check(reader.Subscribe(topic, tags, func(_ context.Context, messages ...*primitive.MessageExt,
	) (consumer.ConsumeResult, error) {
		for _, m := range messages {
			tell("consumer", "gets "+string(m.Body), m.GetTags()+" "+m.GetKeys())
			got <- true
		}
		return consumer.ConsumeSuccess, nil
	}))
	check(reader.Start())
	<-got
	<-got
	fmt.Println("end")
}
