import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's own command-line tools, one after the other, as they are and in one process: each
 * is the main method of a class, and a process of its own for each would mostly wait for Java.
 *
 * <p>java -cp 'lib/*' Tools.java reads one line a command (what the tool gets to read, then the
 * class, then its arguments, with tabs between; "\n" in the first ends a line) and answers with
 * the lines that the tool printed, each after a tab, and a last one with its exit code.
 */
public class Tools {
  static int exited;
  static final List<Runnable> atExit = new ArrayList<>();

  public static void main(String[] args) throws Exception {
    var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    PrintStream answers = System.out;
    InputStream before = System.in;
    Exit.setExitProcedure((code, message) -> exit(code));
    Exit.setHaltProcedure((code, message) -> exit(code));
    Exit.setShutdownHookAdder((name, hook) -> atExit.add(hook));
    for (String line; (line = commands.readLine()) != null; ) {
      String[] parts = line.split("\t", -1);
      var said = new ByteArrayOutputStream();
      var out = new PrintStream(said, true, StandardCharsets.UTF_8);
      System.setOut(out);
      System.setErr(out);
      System.setIn(
          new ByteArrayInputStream(
              parts[0].replace("\\n", "\n").getBytes(StandardCharsets.UTF_8)));
      int code = run(parts[1], Arrays.copyOfRange(parts, 2, parts.length));
      atExit.forEach(Runnable::run); // a producer sends what it still holds when its process ends
      atExit.clear();
      System.setIn(before);
      said.toString(StandardCharsets.UTF_8).lines().forEach(each -> answers.println("\t" + each));
      answers.println(code);
      answers.flush();
    }
  }

  static int run(String name, String[] args) throws Exception {
    exited = -1;
    try {
      Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
      return 0;
    } catch (InvocationTargetException e) {
      if (exited < 0) System.out.println(e.getCause());
      return exited < 0 ? 1 : exited;
    }
  }

  /** A tool is at its end here, whatever it makes of the Error: what it says then is not noted. */
  static void exit(int code) {
    if (exited < 0) {
      exited = code;
      var nowhere = new PrintStream(OutputStream.nullOutputStream());
      System.setOut(nowhere);
      System.setErr(nowhere);
    }
    throw new Error("exit " + code);
  }
}
