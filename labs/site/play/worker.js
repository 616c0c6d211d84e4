// The browser's Python, in a thread of its own: a search does not hold up the page.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const FOLDER = "/home/pyodide/mqlab";

async function begin() {
  const [python, zip] = await Promise.all([
    loadPyodide({ indexURL: new URL("pyodide/", import.meta.url).href }),
    fetch(new URL("mqlab.zip", import.meta.url)).then((answer) => answer.arrayBuffer()),
  ]);
  python.unpackArchive(zip, "zip", { extractDir: FOLDER });
  python.runPython(`import sys; sys.path.insert(0, "${FOLDER}")`);
  return python.pyimport("rooms");
}

const rooms = begin();
rooms.then(
  () => postMessage({ name: "ready" }),
  (error) => postMessage({ name: "broken", value: `Python did not start: ${error.message}` }),
);

// An answer carries its request's number, so that the page knows which ones are out of date.
onmessage = async ({ data: { number, ...request } }) => {
  const post = (name, value) => postMessage({ number, name, value });
  try {
    (await rooms).answer(JSON.stringify(request), post);
  } catch (error) {
    post("failed", error.message.trim().split("\n").at(-1));
  }
  post("done");
};
