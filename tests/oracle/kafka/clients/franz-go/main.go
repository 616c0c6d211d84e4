// The story of every client library (see libraries.py), for franz-go.
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

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

var (
	address, prefix = os.Args[1], os.Args[2]
	orders          = prefix + "orders"
	configs         = []string{"cleanup.policy", "compression.type", "max.message.bytes",
		"min.insync.replicas", "retention.ms", "segment.bytes"}
)

func call(who, what string, action func(context.Context) (string, error)) {
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	came, err := action(ctx)
	var told *kerr.Error
	if errors.As(err, &told) {
		came = told.Message
	} else if err != nil {
		came = fmt.Sprintf("%T", err)
	} else if came == "" {
		came = "ok"
	}
	fmt.Printf("%s\t%s\t%s\n", who, what, came)
}

func client(more ...kgo.Opt) *kgo.Client {
	found, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(address),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerLinger(0),
		kgo.FetchMaxWait(100 * time.Millisecond)}, more...)...)
	if err != nil {
		panic(err)
	}
	return found
}

func send(who string, c *kgo.Client, partition int32, value string) {
	call(who, "send "+value, func(ctx context.Context) (string, error) {
		record := &kgo.Record{Topic: orders, Partition: partition, Value: []byte(value)}
		if err := c.ProduceSync(ctx, record).FirstErr(); err != nil {
			return "", err
		}
		return fmt.Sprintf("ok @%d", record.Offset), nil
	})
}

func begin(who string, c *kgo.Client) {
	call(who, "begin", func(context.Context) (string, error) { return "", c.BeginTransaction() })
}

func end(who, what string, c *kgo.Client, how kgo.TransactionEndTry) {
	call(who, what, func(ctx context.Context) (string, error) {
		return "", c.EndTransaction(ctx, how)
	})
}

// initialised asks for the producer id, which franz-go else does at the first record.
func initialised(who string, c *kgo.Client) {
	call(who, "init", func(ctx context.Context) (string, error) {
		_, _, err := c.ProducerID(ctx)
		return "", err
	})
}

func administer(admin *kadm.Client) {
	create := func(ctx context.Context) (string, error) {
		_, err := admin.CreateTopic(ctx, 2, 1, nil, orders)
		return "", err
	}
	call("admin", "create orders", create)
	call("admin", "create orders again", create)
	call("admin", "configs of orders", func(ctx context.Context) (string, error) {
		found, err := admin.DescribeTopicConfigs(ctx, orders)
		if err != nil {
			return "", err
		}
		values := map[string]string{}
		for _, config := range found[0].Configs {
			values[config.Key] = config.MaybeValue()
		}
		var out []string
		for _, name := range configs {
			out = append(out, name+"="+values[name])
		}
		return strings.Join(out, ", "), nil
	})
}

// sendOffsets adds the group to the transaction and commits in it, as the library itself does
// for a group session; here with words of one's own and a leader epoch.
func sendOffsets(ctx context.Context, c *kgo.Client) (string, error) {
	id, epoch, err := c.ProducerID(ctx)
	if err != nil {
		return "", err
	}
	group := prefix + "billing"
	commit := kmsg.NewPtrTxnOffsetCommitRequest()
	commit.TransactionalID, commit.Group = prefix+"A", group
	commit.ProducerID, commit.ProducerEpoch = id, epoch
	topic := kmsg.NewTxnOffsetCommitRequestTopic()
	topic.Topic = orders
	part := kmsg.NewTxnOffsetCommitRequestTopicPartition()
	words := "half way"
	part.Partition, part.Offset, part.LeaderEpoch, part.Metadata = 0, 3, 0, &words
	topic.Partitions = append(topic.Partitions, part)
	commit.Topics = append(commit.Topics, topic)
	answer, err := commit.RequestWith(ctx, c)
	if err != nil {
		return "", err
	}
	return "", kerr.ErrorForCode(answer.Topics[0].Partitions[0].ErrorCode)
}

// committed asks until there is something: a transaction's offsets count from its marker on.
func committed(admin *kadm.Client, group string) {
	call("admin", "offsets of "+group, func(ctx context.Context) (string, error) {
		found, err := admin.FetchOffsets(ctx, prefix+group)
		for i := 0; i < 100 && err == nil && len(found) == 0; i++ {
			time.Sleep(100 * time.Millisecond)
			found, err = admin.FetchOffsets(ctx, prefix+group)
		}
		if err != nil {
			return "", err
		}
		var out []string
		found.Each(func(o kadm.OffsetResponse) {
			words := o.Metadata
			if strings.HasPrefix(words, "kgo-") { // franz-go writes the member's id
				words = "member"
			}
			out = append(out, fmt.Sprintf("%d: %d epoch %d '%s'", o.Partition, o.At, o.LeaderEpoch,
				words))
		})
		sort.Strings(out)
		return strings.Join(out, ", "), nil
	})
}

func read(isolation string, level kgo.IsolationLevel, admin *kadm.Client) {
	call("reader", isolation, func(ctx context.Context) (string, error) {
		ends, err := admin.ListEndOffsets(ctx, orders)
		if err != nil {
			return "", err
		}
		last, _ := ends.Lookup(orders, 0)
		c := client(kgo.FetchIsolationLevel(level), kgo.KeepControlRecords(),
			kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
				orders: {0: kgo.NewOffset().AtStart()}}))
		defer c.Close()
		var out []string
		for at := int64(0); at < last.Offset && ctx.Err() == nil; {
			c.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
				at = r.Offset + 1
				if !r.Attrs.IsControl() {
					out = append(out, fmt.Sprintf("%s @%d", r.Value, r.Offset))
				}
			})
		}
		return strings.Join(out, ", "), ctx.Err()
	})
}

func consume(ctx context.Context) (string, error) {
	c := client(kgo.ConsumerGroup(prefix+"accounting"), kgo.ConsumeTopics(orders),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.DisableAutoCommit(),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()))
	defer c.Close()
	var out []string
	for len(out) < 6 && ctx.Err() == nil {
		c.PollFetches(ctx).EachRecord(func(r *kgo.Record) {
			out = append(out, fmt.Sprintf("%d: %s @%d", r.Partition, r.Value, r.Offset))
		})
	}
	sort.Strings(out)
	return strings.Join(out, ", "), c.CommitUncommittedOffsets(ctx)
}

func main() {
	plain := client()
	admin := kadm.NewClient(plain)
	administer(admin)
	send("plain", plain, 0, "a")
	send("plain", plain, 1, "z")
	app := client(kgo.TransactionalID(prefix + "A"))
	initialised("app", app)
	begin("app", app)
	send("app", app, 0, "b")
	send("app", app, 0, "c")
	end("app", "commit", app, kgo.TryCommit)
	begin("app", app)
	send("app", app, 0, "x")
	end("app", "abort", app, kgo.TryAbort)
	read("read_committed", kgo.ReadCommitted(), admin)
	read("read_uncommitted", kgo.ReadUncommitted(), admin)
	begin("app", app)
	send("app", app, 0, "d")
	call("app", "send offsets 3", func(ctx context.Context) (string, error) {
		return sendOffsets(ctx, app)
	})
	end("app", "commit", app, kgo.TryCommit)
	committed(admin, "billing")
	twin := client(kgo.TransactionalID(prefix + "A"))
	initialised("twin", twin)
	begin("app", app)
	send("app", app, 0, "e")
	end("app", "commit", app, kgo.TryCommit)
	begin("twin", twin)
	send("twin", twin, 0, "f")
	end("twin", "commit", twin, kgo.TryCommit)
	call("worker", "consumes", consume)
	committed(admin, "accounting")
}
