// Filled in with the page.
