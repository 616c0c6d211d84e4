// A page's pictures begin to play as soon as the player is there.
for (const element of document.querySelectorAll(".mqlab[data-heading]")) mount(element);
