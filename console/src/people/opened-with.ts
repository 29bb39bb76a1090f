/** The query that the page was opened with, before the router reads numbers in it. */
export const openedWith = location.search.slice(1)
