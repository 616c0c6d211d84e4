import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import org.apache.rocketmq.tools.command.MQAdminStartup;

/**
 * Runs commands of mqadmin, one after the other, as they are and in one process: each line of the
 * input is a command's words with tabs between; the answer is what it printed, and a line with a
 * full stop.
 */
public class Admin {
  /** A command may keep what it has started, so that each is made again. */
  static class Commands extends MQAdminStartup {
    static void run(String[] words) {
      SUB_COMMANDS.clear();
      main0(words, null);
    }
  }

  public static void main(String[] args) throws Exception {
    var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream answers = System.out;
    for (String line; (line = commands.readLine()) != null; ) {
      var said = new ByteArrayOutputStream();
      var out = new PrintStream(said, true, StandardCharsets.UTF_8);
      System.setOut(out);
      System.setErr(out);
      Commands.run(line.split("\t"));
      said.toString(StandardCharsets.UTF_8).lines().forEach(each -> answers.println(each.strip()));
      answers.println(".");
      answers.flush();
    }
  }
}
