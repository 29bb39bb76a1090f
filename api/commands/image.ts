import { Command } from 'commander'
import { CommandError, type Config, ConfigError } from '../config.ts'
import { messageOf } from '../message-of.ts'
import { catalogInForce } from './catalog.ts'
import { openImages } from './compute.ts'
import { requireInstallation } from './installation.ts'
import type { ReadConfig } from './operator.ts'
import { printTable } from './print.ts'

async function listImages(config: Config): Promise<void> {
  requireInstallation(config)
  const images = openImages(config, () => {})
  const { catalog, fault } = await catalogInForce(config)
  const listed = await Promise.all(
    catalog.templates.map(async ({ slug, image }) => ({ slug, image, state: await images.state(image) })),
  )
  const rows = listed.map(({ slug, image, state }) => [
    slug,
    state.state,
    state.state === 'ready' ? `${Math.ceil(state.bytes / 2 ** 20)} MB` : '',
    image.sources.map((source) => source.type).join(', '),
  ])
  printTable(['TEMPLATE', 'STATE', 'SIZE', 'SOURCES'], rows)
  for (const { slug, state } of listed)
    if (state.state === 'failed') console.log(`\n${slug}: ${state.message}`)
  await images.close()
  if (fault)
    throw new CommandError(`\nThis is the last good catalogue, because the file is invalid:\n${fault}`)
}

export function imageCommands(config: ReadConfig): Command {
  const image = new Command('image').description('manage template images')
  image
    .command('list')
    .description('list the images of all templates and their state')
    .action(() => listImages(config()))
  const prepare = async (slug: string, onlyBuild: boolean) => {
    const parsed = config()
    requireInstallation(parsed)
    const { catalog } = await catalogInForce(parsed)
    const template = catalog.templates.find((candidate) => candidate.slug === slug)
    if (!template) throw new ConfigError(`No such template: ${slug}. List them with: berthd image list`)
    const sources = onlyBuild
      ? template.image.sources.filter((source) => source.type === 'build')
      : template.image.sources
    if (sources.length === 0)
      throw new ConfigError(`The template ${slug} has no build source in ${parsed.catalogFile}.`)
    const images = openImages(parsed, (line) => console.error(line))
    let last = ''
    const stored = await images
      .wait({ slug, sources }, ({ detail }) => {
        if (detail !== last) console.error(detail)
        last = detail
      })
      .catch((error: unknown) => {
        throw new CommandError(messageOf(error))
      })
      .finally(() => images.close())
    console.log(`${slug} is ready: ${stored.id}`)
  }
  image
    .command('pull')
    .description("prepare a template's image from the first source that works")
    .argument('<template>')
    .action((slug: string) => prepare(slug, false))
  image
    .command('build')
    .description("build a template's image from the distribution's packages")
    .argument('<template>')
    .action((slug: string) => prepare(slug, true))
  return image
}
