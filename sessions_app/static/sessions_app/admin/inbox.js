// The inbox: a button that checks all requests of the page, or none when all are checked.

const boxes = () => [...document.querySelectorAll("[name=request]")];
const button = document.querySelector("[data-choose-all]");

button.hidden = false;
button.addEventListener("click", () => {
  const isAll = boxes().every((box) => box.checked);
  for (const box of boxes()) box.checked = !isAll;
});
