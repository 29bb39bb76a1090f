/** Our own marks for operating system families; none is a trademark. */
const marks: Readonly<Record<string, string>> = {
  debian: 'M15.5 8.500a4 4 0 1 0 .2 6M12.5 12.800a1.6 1.6 0 1 1 .6-2.600M17.8 6.500A8 8 0 1 0 19 15',
  ubuntu: 'M12 17a5 5 0 1 0 0-10 5 5 0 0 0 0 10zM19 12h2M8.5 5.900L7.5 4.200M8.5 18.100l-1 1.7',
  alpine: 'M3 18l6-10 4 6.500M10.5 18L16 9l5.5 9',
  fedora: 'M16 6h-2a3 3 0 0 0-3 3v8a3 3 0 0 1-3 3M8 12.500h7',
  rocky: 'M4 16L12 6l8 10M8.5 18.500L12 14l3.5 4.5',
  linux: 'M5 7l5 5-5 5M12 17h7',
}

export function FamilyMark({ family }: { family: string }) {
  return (
    <svg className="mark" viewBox="0 0 24 24" aria-hidden="true">
      <path d={marks[family] ?? marks.linux} />
    </svg>
  )
}
