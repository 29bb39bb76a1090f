/** A key of a US keyboard: its place, as browsers name it, and whether Shift is held. */
export interface Key {
  keysym: number
  code: string
  isShifted: boolean
}

const ENTER = 0xff0d
const TAB = 0xff09

/** The keys beside letters and digits: their place, then the characters without and with Shift. */
const OTHERS: readonly [code: string, characters: string][] = [
  ['Backquote', '`~'],
  ['Minus', '-_'],
  ['Equal', '=+'],
  ['BracketLeft', '[{'],
  ['BracketRight', ']}'],
  ['Backslash', '\\|'],
  ['Semicolon', ';:'],
  ['Quote', '\'"'],
  ['Comma', ',<'],
  ['Period', '.>'],
  ['Slash', '/?'],
  ['Space', ' '],
  ...[...')!@#$%^&*('].map((shifted, digit): [string, string] => [`Digit${digit}`, `${digit}${shifted}`]),
  ...[...'abcdefghijklmnopqrstuvwxyz'].map((letter): [string, string] => [
    `Key${letter.toUpperCase()}`,
    `${letter}${letter.toUpperCase()}`,
  ]),
]

/** Finds the key of a character; null: a US keyboard has none. */
export function keyOf(character: string): Key | null {
  if (character === '\n') return { keysym: ENTER, code: 'Enter', isShifted: false }
  if (character === '\t') return { keysym: TAB, code: 'Tab', isShifted: false }
  const found = OTHERS.find(([, characters]) => characters.includes(character))
  if (!found) return null
  const [code, characters] = found
  return { keysym: character.charCodeAt(0), code, isShifted: characters.indexOf(character) === 1 }
}
