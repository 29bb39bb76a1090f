/** Drawn by us, 24 units wide. */
const paths = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  server: 'M4 4h16v6H4zM4 14h16v6H4zM8 7h.01M8 17h.01',
  network: 'M12 4v5M5 20v-4h14v4M12 9v7M9 4h6v5H9zM2.5 20h5M16.5 20h5',
  shield: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6z',
  address:
    'M12 21s7-6.2 7-11.500A7 7 0 0 0 5 9.500C5 14.8 12 21 12 21zM12 12a2.5 2.5 0 1 0 0-5 2.5 2.5 0 0 0 0 5z',
  volume: 'M5 6c0-3.500 14-3.500 14 0s-14 3.500-14 0v12c0 3.500 14 3.500 14 0V6M5 12c0 3.500 14 3.500 14 0',
  snapshot: 'M4 7h4l1.5-2.500h5L16 7h4v12H4zM12 16a3.500 3.500 0 1 0 0-7 3.500 3.500 0 0 0 0 7z',
  image: 'M12 3l8 4.500v9L12 21l-8-4.500v-9zM4 7.500l8 4.500 8-4.500M12 12v9',
  folder: 'M3 6h6l2 2.500h10V19H3z',
  key: 'M14.5 13.500a4.5 4.5 0 1 0-4-4L3 17v4h4v-3h3v-3l1.5-1.500M16 8h.01',
  billing: 'M3 6h18v12H3zM3 10h18M7 15h3',
  person: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4.5 20.500c1-4 4-5.5 7.5-5.500s6.5 1.5 7.5 5.5',
  people:
    'M9 11.500a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM2.5 19.500c.8-3.500 3.300-5 6.500-5s5.700 1.500 6.500 5M15.500 5a3.500 3.500 0 0 1 0 6.500M17.500 15c2 .6 3.400 2 4 4.500',
  lock: 'M5 11h14v9H5zM8 11V8a4 4 0 0 1 8 0v3M12 14.500v2',
  token: 'M7 8l-4 4 4 4M17 8l4 4-4 4M14 5l-4 14',
  webhook: 'M4 12h9M10 7l5 5-5 5M19 4v16',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3.5 2',
  book: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14zM16 16l4.5 4.5',
  plus: 'M12 5v14M5 12h14',
  close: 'M6 6l12 12M18 6L6 18',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12.500l4.5 4.500L19 7.5',
  alert: 'M12 4l9.5 16h-19zM12 10v4M12 17h.01',
  info: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 11v5M12 8h.01',
  menu: 'M4 7h16M4 12h16M4 17h16',
  more: 'M5.5 11h1v2h-1zM11.5 11h1v2h-1zM17.5 11h1v2h-1z',
  code: 'M8 8l-4 4 4 4M16 8l4 4-4 4',
  play: 'M7 4.500v15l12-7.500z',
  stop: 'M6 6h12v12H6z',
  restart: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  terminal: 'M3 5h18v14H3zM7 10l3 2.500L7 15M12.5 15H17',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  down: 'M6 9l6 6 6-6',
  theme: 'M12 3a9 9 0 1 0 0 18zM12 3a9 9 0 0 1 0 18',
  out: 'M10 4H5v16h5M14 8l4 4-4 4M18 12H9',
  expand: 'M4 9V4h5M20 9V4h-5M4 15v5h5M20 15v5h-5',
} as const

export type IconName = keyof typeof paths

/** Beside a text, the icon is hidden from screen readers. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg className="icon" viewBox="0 0 24 24" aria-hidden="true">
      <path d={paths[name]} />
    </svg>
  )
}
