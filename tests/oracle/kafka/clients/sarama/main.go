// The story of every client library (see libraries.py), for sarama.
//
// story ADDRESS PREFIX prints one line a call: who, the call, what came of it, tabs between.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"

	"github.com/IBM/sarama"
)

var (
	address, prefix = os.Args[1], os.Args[2]
	orders          = prefix + "orders"
	names           = []string{"cleanup.policy", "compression.type", "max.message.bytes",
		"min.insync.replicas", "retention.ms", "segment.bytes"}
)

func call(who, what string, action func() (string, error)) {
	came, err := action()
	var code sarama.KError
	if errors.As(err, &code) {
		came = fmt.Sprintf("error %d", int16(code))
	} else if err != nil {
		came = strings.SplitN(err.Error(), ":", 2)[0]
	} else if came == "" {
		came = "ok"
	}
	fmt.Printf("%s\t%s\t%s\n", who, what, came)
}

func settings(id string) *sarama.Config {
	c := sarama.NewConfig()
	c.Version = sarama.MaxVersion
	c.Producer.Return.Successes = true
	c.Producer.Partitioner = sarama.NewManualPartitioner
	c.Producer.Idempotent = true
	c.Producer.RequiredAcks = sarama.WaitForAll
	c.Net.MaxOpenRequests = 1
	c.Producer.Transaction.ID = id
	c.Consumer.Offsets.Initial = sarama.OffsetOldest
	c.Consumer.Offsets.AutoCommit.Enable = false
	return c
}

func must[T any](found T, err error) T {
	if err != nil {
		panic(err)
	}
	return found
}

// producer of a transactional id: sarama asks for the producer id when it is made.
func producer(who, id string) sarama.SyncProducer {
	var found sarama.SyncProducer
	call(who, "init", func() (string, error) {
		var err error
		found, err = sarama.NewSyncProducer([]string{address}, settings(id))
		return "", err
	})
	return found
}

func send(who string, p sarama.SyncProducer, partition int32, value string) {
	call(who, "send "+value, func() (string, error) {
		message := &sarama.ProducerMessage{Topic: orders, Partition: partition,
			Value: sarama.StringEncoder(value)}
		_, offset, err := p.SendMessage(message)
		return fmt.Sprintf("ok @%d", offset), err
	})
}

func done(who, what string, action func() error) {
	call(who, what, func() (string, error) { return "", action() })
}

func administer(admin sarama.ClusterAdmin) {
	detail := &sarama.TopicDetail{NumPartitions: 2, ReplicationFactor: 1}
	create := func() error { return admin.CreateTopic(orders, detail, false) }
	done("admin", "create orders", create)
	done("admin", "create orders again", create)
	call("admin", "configs of orders", func() (string, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{
			Type: sarama.TopicResource, Name: orders, ConfigNames: names})
		var out []string
		for _, entry := range entries {
			out = append(out, entry.Name+"="+entry.Value)
		}
		sort.Strings(out)
		return strings.Join(out, ", "), err
	})
}

func read(isolation string, level sarama.IsolationLevel) {
	call("reader", isolation, func() (string, error) {
		c := settings("")
		c.Consumer.IsolationLevel = level
		client := must(sarama.NewClient([]string{address}, c))
		defer client.Close()
		consumer := must(sarama.NewConsumerFromClient(client))
		partition := must(consumer.ConsumePartition(orders, 0, sarama.OffsetOldest))
		defer partition.Close()
		last := int64(2) // the last record that is there: c, or x
		if level == sarama.ReadUncommitted {
			last = 4
		}
		var out []string
		for message := range partition.Messages() {
			out = append(out, fmt.Sprintf("%s @%d", message.Value, message.Offset))
			if message.Offset >= last {
				break
			}
		}
		return strings.Join(out, ", "), nil
	})
}

type worker struct {
	found chan string
	stop  chan struct{}
}

func (w worker) Setup(sarama.ConsumerGroupSession) error   { return nil }
func (w worker) Cleanup(sarama.ConsumerGroupSession) error { return nil }
func (w worker) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error {
	for {
		select {
		case m := <-c.Messages():
			if m == nil {
				return nil
			}
			s.MarkMessage(m, "")
			s.Commit()
			w.found <- fmt.Sprintf("%d: %s @%d", m.Partition, m.Value, m.Offset)
		case <-w.stop:
			return nil
		}
	}
}

func consume() (string, error) {
	c := settings("")
	c.Consumer.IsolationLevel = sarama.ReadCommitted
	group := must(sarama.NewConsumerGroup([]string{address}, prefix+"accounting", c))
	w := worker{make(chan string, 10), make(chan struct{})}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- group.Consume(ctx, []string{orders}, w) }()
	var out []string
	for len(out) < 6 {
		out = append(out, <-w.found)
	}
	close(w.stop)
	cancel()
	err := <-ended
	sort.Strings(out)
	return strings.Join(out, ", "), errors.Join(err, group.Close())
}

// committed asks until there is something: a transaction's offsets count from its marker on.
func committed(admin sarama.ClusterAdmin, group string) {
	all := map[string][]int32{orders: {0, 1}}
	call("admin", "offsets of "+group, func() (string, error) {
		found, err := admin.ListConsumerGroupOffsets(prefix+group, all)
		for i := 0; i < 100 && err == nil && found.GetBlock(orders, 0).Offset < 0; i++ {
			time.Sleep(100 * time.Millisecond)
			found, err = admin.ListConsumerGroupOffsets(prefix+group, all)
		}
		if err != nil {
			return "", err
		}
		var out []string
		for partition, block := range found.Blocks[orders] {
			if block.Offset >= 0 {
				out = append(out, fmt.Sprintf("%d: %d epoch %d '%s'", partition, block.Offset,
					block.LeaderEpoch, block.Metadata))
			}
		}
		sort.Strings(out)
		return strings.Join(out, ", "), nil
	})
}

func main() {
	admin := must(sarama.NewClusterAdmin([]string{address}, settings("")))
	administer(admin)
	plain := must(sarama.NewSyncProducer([]string{address}, settings("")))
	send("plain", plain, 0, "a")
	send("plain", plain, 1, "z")
	app := producer("app", prefix+"A")
	done("app", "begin", app.BeginTxn)
	send("app", app, 0, "b")
	send("app", app, 0, "c")
	done("app", "commit", app.CommitTxn)
	done("app", "begin", app.BeginTxn)
	send("app", app, 0, "x")
	done("app", "abort", app.AbortTxn)
	read("read_committed", sarama.ReadCommitted)
	read("read_uncommitted", sarama.ReadUncommitted)
	words := "half way"
	at := map[string][]*sarama.PartitionOffsetMetadata{
		orders: {{Partition: 0, Offset: 3, LeaderEpoch: 0, Metadata: &words}}}
	done("app", "begin", app.BeginTxn)
	send("app", app, 0, "d")
	done("app", "send offsets 3", func() error {
		return app.AddOffsetsToTxn(at, prefix+"billing")
	})
	done("app", "commit", app.CommitTxn)
	committed(admin, "billing")
	twin := producer("twin", prefix+"A")
	done("app", "begin", app.BeginTxn)
	send("app", app, 0, "e")
	done("app", "commit", app.CommitTxn)
	done("twin", "begin", twin.BeginTxn)
	send("twin", twin, 0, "f")
	done("twin", "commit", twin.CommitTxn)
	call("worker", "consumes", consume)
	committed(admin, "accounting")
}
