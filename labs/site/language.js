// The language of the site: the first time that of the browser, then the one chosen last.
const KEY = "mqlab-language";
let chosen = null;
try { chosen = localStorage.getItem(KEY); } catch { /* a page from disk may have no storage */ }
const here = document.documentElement.lang;
const wanted = chosen ?? (navigator.language.startsWith("zh") ? "zh" : "en");

addEventListener("DOMContentLoaded", () => {
  const twin = document.querySelector("a.twin");
  const keep = (lang) => { try { localStorage.setItem(KEY, lang); } catch { /* as above */ } };
  twin.addEventListener("click", () => {
    keep(twin.hreflang);
    const step = document.querySelector(".mqlab")?.dataset.step;
    twin.hash = step && !document.getElementById("ask") ? `#step=${step}` : location.hash;
  });
  if (chosen === null && here === "en" && wanted === "zh") location.replace(twin.href + location.hash);
});
