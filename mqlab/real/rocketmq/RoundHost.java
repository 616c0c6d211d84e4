// The released broker, unmodified, in one process with a hand on its clocks.
//
//     java -cp … RoundHost broker.conf [namesrv.conf]
//
// It is started as BrokerStartup starts it, with a name server beside it where one is asked for. Then
// each line of standard input asks for one thing that a timer of the broker would do sooner or later,
// and is answered by one line when it is done:
//
//     round TIMEOUT MAX   one round of TransactionalMessageCheckService#onWaitEnd
//     ops                 what TransactionalOpBatchService does when its interval is over (5.x)
//     persist             ConsumerOffsetManager#persist (by itself every five seconds)
//     accept              slaves may connect, on this machine
//     sync MASTER HA      SlaveSynchronize#syncAll (by itself every ten seconds, in 5.x every minute);
//                         both addresses of its master a slave would have from a name server
//
// Nothing else of the broker is touched, and it serves clients as always, but for one thing: it must
// not be heard beyond this machine. 5.5.0 has the setting bindAddress for that, 4.9.7 has not, so its
// servers are given an address here; and slaves would connect to a port that listens to the whole
// network in both, which is closed again at once. The same source runs on 4.9.7 and on 5.5.0.

import io.netty.bootstrap.ServerBootstrap;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.AccessibleObject;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.SocketAddress;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.broker.BrokerController;
import org.apache.rocketmq.broker.BrokerStartup;
import org.apache.rocketmq.namesrv.NamesrvController;
import org.apache.rocketmq.namesrv.NamesrvStartup;
import org.apache.rocketmq.remoting.netty.NettyRemotingServer;
import org.apache.rocketmq.store.DefaultMessageStore;

public class RoundHost {
    public static void main(String[] args) {
        try {
            serve(args);
        } catch (Throwable error) { // its other threads would live on
            error.printStackTrace();
            Runtime.getRuntime().halt(1);
        }
    }

    private static void serve(String[] args) throws Exception {
        if (args.length > 1) {
            startNameServer(new String[] {"-c", args[1]});
        }
        BrokerController broker = BrokerStartup.createBrokerController(new String[] {"-c", args[0]});
        keepOnLoopback(broker);
        broker.start();
        closeHaPort(broker);
        System.out.println("ready");
        BufferedReader asked =
            new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = asked.readLine(); line != null; line = asked.readLine()) {
            System.out.println(answer(broker, line.trim().split(" ")));
        }
        Runtime.getRuntime().halt(0); // whoever started it is gone
    }

    private static String answer(BrokerController broker, String[] words) throws Exception {
        switch (words[0]) {
            case "round":
                broker.getTransactionalMessageService().check(
                    Long.parseLong(words[1]),
                    Integer.parseInt(words[2]),
                    broker.getTransactionalMessageCheckListener());
                return "done";
            case "ops":
                writeOpBatch(broker);
                return "done";
            case "persist":
                broker.getConsumerOffsetManager().persist();
                return "done";
            case "accept":
                openHaPort(broker);
                return "done";
            case "sync":
                broker.getMessageStore().updateHaMasterAddress(words[2]);
                broker.getSlaveSynchronize().setMasterAddr(words[1]);
                broker.getSlaveSynchronize().syncAll();
                return "done";
            default:
                return "no such request: " + words[0];
        }
    }

    // By name, because 4.9 has neither the method nor the setting: it writes each op at once.
    private static void writeOpBatch(BrokerController broker) throws Exception {
        Object config = broker.getBrokerConfig();
        Object service = broker.getTransactionalMessageService();
        Method write;
        try {
            write = service.getClass().getMethod("batchSendOpMessage");
        } catch (NoSuchMethodException nothingToWrite) {
            return;
        }
        Method interval = config.getClass().getMethod("setTransactionOpBatchInterval", int.class);
        Object before = config.getClass().getMethod("getTransactionOpBatchInterval").invoke(config);
        interval.invoke(config, 0);
        write.invoke(service);
        interval.invoke(config, before);
    }

    // Between its two halves 4.9's start lets us in; 5.5.0 has one method, and bindAddress.
    private static void startNameServer(String[] args) throws Exception {
        Method create;
        try {
            create = NamesrvStartup.class.getMethod("createNamesrvController", String[].class);
        } catch (NoSuchMethodException newer) {
            NamesrvStartup.main0(args);
            return;
        }
        NamesrvController names = (NamesrvController) create.invoke(null, (Object) args);
        names.initialize();
        keepOnLoopback(names);
        names.start();
    }

    // It listens everywhere. Senders that wait for slaves (SYNC_MASTER) are answered by the rest of
    // the service.
    private static void closeHaPort(BrokerController broker) throws Exception {
        Object service = ((DefaultMessageStore) broker.getMessageStore()).getHaService();
        Object port = open(service.getClass().getDeclaredField("acceptSocketService")).get(service);
        open(port.getClass().getMethod("shutdown", boolean.class)).invoke(port, true);
    }

    // Once more, at an address of this machine; 5.5.0 has the address in a class above.
    private static void openHaPort(BrokerController broker) throws Exception {
        DefaultMessageStore store = (DefaultMessageStore) broker.getMessageStore();
        int number = store.getMessageStoreConfig().getHaListenPort();
        Object service = store.getHaService();
        Field field = open(service.getClass().getDeclaredField("acceptSocketService"));
        Class<?> kind = field.get(service).getClass();
        Constructor<?> make = open(kind.getDeclaredConstructors()[0]);
        boolean older = make.getParameterTypes()[1] == int.class;
        Object config = older ? (Object) number : store.getMessageStoreConfig();
        Object port = make.newInstance(service, config);
        Class<?> above = older ? kind : kind.getSuperclass();
        open(above.getDeclaredField("socketAddressListen"))
            .set(port, new InetSocketAddress(InetAddress.getLoopbackAddress(), number));
        open(above.getMethod("beginAccept")).invoke(port);
        open(above.getMethod("start")).invoke(port);
        field.set(service, port);
    }

    private static <T extends AccessibleObject> T open(T member) {
        member.setAccessible(true);
        return member;
    }

    private static void keepOnLoopback(Object controller) throws Exception {
        for (Field field : controller.getClass().getDeclaredFields()) {
            field.setAccessible(true);
            if (field.get(controller) instanceof NettyRemotingServer) {
                Field bootstrap = NettyRemotingServer.class.getDeclaredField("serverBootstrap");
                bootstrap.setAccessible(true);
                bootstrap.set(field.get(controller), new LoopbackBootstrap());
            }
        }
    }

    private static class LoopbackBootstrap extends ServerBootstrap {
        @Override
        public ServerBootstrap localAddress(SocketAddress address) {
            int port = ((InetSocketAddress) address).getPort();
            return super.localAddress(
                new InetSocketAddress(InetAddress.getLoopbackAddress(), port));
        }
    }
}
