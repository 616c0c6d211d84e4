import java.util.*;
import java.util.concurrent.TimeUnit;
import org.apache.pulsar.client.api.*;
import org.apache.pulsar.client.api.transaction.Transaction;

/** Orders become payments in transactions, by any Java client; each line is an outcome. */
public class Story {
    public static void main(String[] args) throws Exception {
        String run = args[1];
        try (PulsarClient client = PulsarClient.builder().serviceUrl("pulsar://" + args[0])
                .enableTransaction(true).operationTimeout(20, TimeUnit.SECONDS).build()) {
            Consumer<String> orders = client.newConsumer(Schema.STRING).topic(run + "-orders")
                    .subscriptionName("workers").subscriptionType(SubscriptionType.Shared)
                    .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
            Producer<String> in = client.newProducer(Schema.STRING).topic(run + "-orders").create();
            Producer<String> out = client.newProducer(Schema.STRING).topic(run + "-payments")
                    .sendTimeout(0, TimeUnit.SECONDS).create();
            Consumer<String> payments = client.newConsumer(Schema.STRING).topic(run + "-payments")
                    .subscriptionName("billing")
                    .subscriptionInitialPosition(SubscriptionInitialPosition.Earliest).subscribe();
            for (String text : List.of("a", "b", "c")) {
                in.newMessage().value(text).send();
            }
            for (int turn = 0; turn < 4; turn++) {
                Message<String> came = orders.receive(10, TimeUnit.SECONDS);
                Transaction txn = client.newTransaction()
                        .withTransactionTimeout(1, TimeUnit.MINUTES)
                        .build().get();
                out.newMessage(txn).value(came.getValue()).send();
                orders.acknowledgeAsync(came.getMessageId(), txn).get();
                if (turn == 1) {
                    Message<String> early = payments.receive(500, TimeUnit.MILLISECONDS);
                    System.out.println("open " + text(early));
                    txn.abort().get();
                } else {
                    txn.commit().get();
                }
                System.out.println("turn " + turn + " " + txn.getState());
                if (turn == 0) {
                    System.out.println("paid " + text(payments.receive(10, TimeUnit.SECONDS)));
                }
            }
            Set<String> paid = new TreeSet<>();
            for (Message<String> came; (came = payments.receive(2, TimeUnit.SECONDS)) != null; ) {
                paid.add(came.getValue());
            }
            System.out.println("paid " + paid);
            Message<String> more = orders.receive(2, TimeUnit.SECONDS);
            System.out.println("left " + text(more));
        }
    }

    private static String text(Message<String> came) {
        return came == null ? "nothing" : came.getValue();
    }
}
