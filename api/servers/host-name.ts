import { randomInt } from 'node:crypto'

const ADJECTIVES =
  'amber bold brave bright calm clear clever cosmic crisp deep eager fair fast fine fresh gentle golden grand green happy honest jolly keen kind light lively lucky mellow mighty misty modern neat noble proud quick quiet rapid royal sharp shiny silver smart snowy solid steady sunny swift tidy vivid warm wise witty'.split(
    ' ',
  )
const NOUNS =
  'anchor badger bay beacon bear birch boat breeze bridge brook canyon cedar cliff cloud comet coral crane creek delta dolphin dune eagle falcon fern fjord forest fox gale harbor hawk heron island jetty lagoon lark lynx maple meadow moon oak ocean orca osprey otter pier pine puffin quay raven reef ridge river sail seal shore sky spruce star swan tide trout valley wave whale willow wind wolf'.split(
    ' ',
  )

/** Returns a readable host name, such as brave-otter-417, for a server that was ordered without a name. */
export function generateName(): string {
  const pick = (words: string[]) => words[randomInt(words.length)]
  return `${pick(ADJECTIVES)}-${pick(NOUNS)}-${randomInt(100, 1000)}`
}
