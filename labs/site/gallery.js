// Hides the stories that lack a word or a choice. What was asked stands in the address.

const form = document.getElementById("search");
const cards = [...document.querySelectorAll(".cards li")];
const FIELDS = ["words", "broker", "anomaly", "safeguard"];

function search() {
  const { words, broker, anomaly, safeguard } = Object.fromEntries(new FormData(form));
  const asked = words.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const card of cards) {
    const { dataset } = card;
    card.hidden = !(asked.every((word) => dataset.words.includes(word))
      && (!broker || dataset.broker === broker)
      && (!anomaly || dataset.anomaly.split(", ").includes(anomaly))
      && (!safeguard || dataset.safeguard.split(" ").includes(safeguard)));
    count += !card.hidden;
  }
  const asking = [...new FormData(form).values()].some(Boolean);
  for (const group of document.querySelectorAll(".group")) {
    group.hidden = !group.querySelector("li:not([hidden])");
    group.open = asking;
  }
  const { one, more } = document.getElementById("found").dataset;
  document.getElementById("found").textContent = count === 1 ? one : more.replace("#", count);
  document.getElementById("nothing").hidden = count > 0;
}

function remember() {
  const given = [...new FormData(form)].filter(([, value]) => value);
  history.replaceState(null, "", given.length ? `#${new URLSearchParams(given)}` : "#");
}

function read() {
  const given = new URLSearchParams(location.hash.slice(1));
  for (const name of FIELDS) form.elements[name].value = given.get(name) ?? "";
  search();
}

form.addEventListener("input", () => { search(); remember(); });
form.addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", read);
read();
