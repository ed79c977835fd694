// Button of the page to print.

document.getElementById("print").addEventListener("click", () => print());
