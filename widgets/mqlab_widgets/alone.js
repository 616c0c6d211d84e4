// A playground on a page of its own, without a notebook. The last file of its module: Python's
// process answers each message with the values that the widget has then.
const values = new Map(), heard = new Map();
let asked = Promise.resolve();

const model = {
  get: (name) => values.get(name)?.value,
  on(event, act) { heard.set(event, [...(heard.get(event) ?? []), act]); },
  off(event, act) { heard.set(event, (heard.get(event) ?? []).filter((one) => one !== act)); },
  send(message) { asked = asked.then(() => ask(message)); },
};

async function ask(message) {
  let told;
  try {
    const body = JSON.stringify(message);
    const answer = await fetch(location.pathname, { method: "POST", body });
    if (!answer.ok) throw new Error(await answer.text());
    told = await answer.json();
  } catch {
    document.getElementById("gone").hidden = false;
    return;
  }
  const fresh = Object.entries(told).filter(([name, text]) => values.get(name)?.text !== text);
  for (const [name, text] of fresh) {
    values.set(name, { text, value: name === "ui" ? JSON.parse(text) : readBytes(text) });
  }
  for (const [name] of fresh) for (const act of heard.get(`change:${name}`) ?? []) act();
}

await ask({ type: "begin" });
if (values.has("ui")) render({ model, el: document.getElementById("widget") }, playground);
