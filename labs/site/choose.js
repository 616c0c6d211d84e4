// The first rule that fits the answers is shown, and its way is opened, with the clients in the
// language that was answered. The answers are in the address, so they can be sent.

const form = document.getElementById("ask");
const rules = JSON.parse(form.dataset.rules);
const advice = [...document.querySelectorAll("[data-rule]")];
const ways = [...document.querySelectorAll("details[data-way]")];
const clients = [...form.language.options].map(({ text, value }) => [value,
  [...document.querySelectorAll("details[data-way] li")].filter(({ textContent }) => (
    textContent.startsWith(`${text}: `)))]);

function advise() {
  const given = Object.fromEntries(new FormData(form));
  const at = rules.findIndex(({ when }) => (
    Object.entries(when).every(([name, those]) => those.includes(given[name]))));
  advice.forEach((one, i) => { one.hidden = i !== at; });
  for (const [language, lines] of clients) {
    for (const line of lines) line.hidden = language !== given.language;
  }
  for (const one of ways) one.open = one.dataset.way === rules[at].way;
}

const given = new URLSearchParams(location.hash.slice(1));
for (const field of form.elements) {
  if ([...field.options].some(({ value }) => value === given.get(field.name))) {
    field.value = given.get(field.name);
  }
}
form.addEventListener("input", () => {
  advise();
  history.replaceState(null, "", `#${new URLSearchParams(new FormData(form))}`);
});
form.addEventListener("submit", (event) => event.preventDefault());
advise();
