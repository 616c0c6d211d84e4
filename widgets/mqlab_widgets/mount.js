// What begins a player on a page: its payload unpacked, its font brought, the still replaced. The
// last of the player's files.

/** What is short is JSON as it is. The rest is read chunk by chunk: `new Response(stream).text()`
 *  comes several tasks later, and a browser that is given time draws the still first. */
async function unpack(bytes) {
  if (String.fromCharCode(bytes[0]) === "{") return JSON.parse(new TextDecoder().decode(bytes));
  const { readable, writable } = new DecompressionStream("deflate");
  const writer = writable.getWriter(), reader = readable.getReader();
  for (const sent of [writer.write(bytes), writer.close()]) sent.catch(() => {}); // read() throws
  const decoder = new TextDecoder();
  let text = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return JSON.parse(text);
    text += decoder.decode(value, { stream: true });
  }
}

function readBytes(base64) {
  const plain = atob(base64), bytes = new Uint8Array(plain.length);
  for (let i = 0; i < plain.length; i++) bytes[i] = plain.charCodeAt(i);
  return bytes;
}

/** Until the browser has drawn what it has. */
const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

/** The font comes once into a notebook, and after the first picture: whenever a page gets a font,
 *  the browser lays all of it out again. */
async function bringFont(css, player) {
  await painted();
  const id = "mqlab-font";
  if (!document.getElementById(id)) document.head.append(make("style", { id, textContent: css }));
  await Promise.all(["400", "600"].map((weight) => document.fonts.load(`${weight} 12px mqlab`)));
  player.keepTitle();
  player.saidAt = -1; // the narration may need other room now
  player.keepRoom();
}

/** Play the payload inside `host`, in place of the still; a page with much space may
 *  ask for larger letters. */
async function mount(host, larger = 1) {
  const data = await unpack(readBytes(host.querySelector("script.payload").textContent.trim()));
  data.meta.scale *= larger;
  const [font, twin] = ["font", "twin"]
    .map((name) => host.querySelector(`script.${name}`)?.textContent);
  const player = new Player(host, data);
  host.mqlab = player;
  bringIn(host);
  if (font) bringFont(font, player);
  if (twin) player.offer(twin);
  // A page of its own is about nothing else: its keys work at once.
  if (host.dataset.heading === "h1") host.focus({ preventScroll: true });
  return player;
}

/** The same in the host of this name, whose payload and font came with the script, in a notebook in
 *  an output after the still's. The still is seen first: what replaces it takes longer. */
async function mountBrought(name) {
  const host = document.getElementById(name);
  const brought = document.querySelector(`[data-brought="${name}"]`);
  host.append(...brought.childNodes);
  brought.remove();
  const still = host.querySelector("img");
  if (still?.complete === false) await new Promise((done) => still.onload = still.onerror = done);
  await painted();
  return mount(host);
}
