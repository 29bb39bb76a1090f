// Checks the repository's rules. Each failure names the places, the reason for the rule, and the fix. Rules that
// Biome and TypeScript enforce (formatting, unused code, types) are not repeated here.
import { statSync } from 'node:fs'
import path from 'node:path'
import { test } from 'vitest'
import { modules } from '../api/drivers/modules/modules.ts'
import {
  exists,
  files,
  findCycle,
  isNode,
  isTest,
  lineOf,
  type Node,
  ownImports,
  partOf,
  place,
  product,
  read,
  refuse,
  root,
  type Source,
  sources,
} from './harness/sources.ts'

// ---- structure ----

test('imports of files form no cycle, not even of types', () => {
  const arrows = new Map(
    sources.map((source) => [source.file, new Set(ownImports(source).map(({ file }) => file))]),
  )
  refuse(
    findCycle(arrows)?.slice(0, -1) ?? [],
    'files in an import cycle can only be understood together, even if they import only types.',
    'move what both need into a file of its own, below them.',
  )
})

test('within a folder, imports between its files and subfolders form no cycle, not even of types', () => {
  const importsIn = new Map<string, Map<string, Set<string>>>()
  for (const source of product.filter(({ file }) => /^(api|console\/src)\//.test(file)))
    for (const { file } of ownImports(source)) {
      const [from, to] = [source.file.split('/'), file.split('/')]
      const depth = from.findIndex((name, at) => name !== to[at])
      const [here, there] = [from[depth], to[depth]]
      if (here === undefined || there === undefined || depth === 0) continue
      const folder = from.slice(0, depth).join('/')
      const imported = importsIn.get(folder) ?? new Map<string, Set<string>>()
      importsIn.set(folder, imported.set(here, (imported.get(here) ?? new Set()).add(there)))
    }
  const cycles = [...importsIn].flatMap(([folder, imported]) => {
    const cycle = findCycle(imported)?.slice(0, -1).toSorted()
    return cycle ? [`${folder}: ${cycle.join(', ')}`] : []
  })
  refuse(
    cycles,
    'a cycle begins with a type that is imported from above: soon neither folder can be understood alone.',
    'let the lower folder define the type that it needs, and the upper one satisfy it.',
  )
})

test('a folder and its subfolder do not import each other', () => {
  const folderOf = (file: string) => file.slice(0, file.lastIndexOf('/'))
  // The root file of a part wires its subfolders, and feature.ts wires those of a feature.
  const arrows = product
    .filter(({ file }) => /^(api|console\/src)\/.+\//.test(file) && !file.endsWith('/feature.ts'))
    .flatMap((source) =>
      ownImports(source).map(({ file }) => [folderOf(source.file), folderOf(file)] as const),
    )
  const inside = arrows.filter(([from, to]) => to.startsWith(`${from}/`))
  const both = inside.filter(([from, to]) => arrows.some(([a, b]) => a === to && b === from))
  refuse(
    [...new Set(both.map(([from, to]) => `${from} and ${to}`))],
    'a reader of such a subfolder has to leave it and come back.',
    'move what the folder needs out of the subfolder.',
  )
})

const MOST_IMPORTS = 30
/** The list of migrations names each of them. */
const LISTS = ['api/database/database.ts']

test('a file imports few others', () => {
  const counts = product
    .map(({ file, imports }) => ({ file, count: new Set(imports.map(({ from }) => from)).size }))
    .filter(({ file, count }) => count > MOST_IMPORTS && !LISTS.includes(file))
  refuse(
    counts.map(({ file, count }) => `${file} has ${count} imports; ${MOST_IMPORTS} are allowed`),
    'a file that needs everything changes with everything, and nobody can read it alone.',
    'find its second subject, and give that a file of its own.',
  )
})

/** The floors, the lowest first; AGENTS.md lists the highest first. A part imports from its own floor and those below. */
const floors = (/^- Imports point down, floor by floor: ([^.]+)\./m.exec(read('AGENTS.md'))?.[1] ?? '')
  .split('; ')
  .map((floor) => floor.split(', '))
  .reverse()
const floorOf = (file: string) => floors.findIndex((names) => names.includes(partOf(file)))

test('files import only from their own floor or those below', () => {
  const wrong = product
    .filter(({ file }) => file.startsWith('api/'))
    .flatMap((source) => {
      if (floorOf(source.file) === -1) return [`${source.file} is on no floor`]
      return ownImports(source)
        .filter(({ file }) => file.startsWith('api/') && floorOf(file) > floorOf(source.file))
        .map(({ file }) => `${source.file} imports ${file}`)
    })
  refuse(
    wrong,
    'infrastructure that knows a feature, or a feature that knows who uses it, cannot change or be tested alone.',
    'pass what is needed as an argument from api/app.ts, or define the type below; give a new folder its floor in AGENTS.md.',
  )
})

test('only a feature itself uses its store and its routes', () => {
  const wrong = product.flatMap((source) =>
    ownImports(source)
      .filter(({ file }) => partOf(file) !== partOf(source.file))
      .filter(({ file }) => /\/(store|routes)\.ts$/.test(file))
      .filter(({ file }) => !file.startsWith('api/drivers/'))
      .map(({ file }) => `${source.file} imports ${file}`),
  )
  refuse(
    wrong,
    'store.ts holds a feature’s SQL and may change with its tables; its rules are in the use-case files, its routes in its feature.ts.',
    'call a function of the feature’s use-case file, or add one there.',
  )
})

test('no code above the drivers asks which driver it has', () => {
  const names = modules.map(({ name }) => name)
  const folders = names.map((name) => `api/drivers/${name}/`)
  const isAbove = ({ file }: Source) =>
    file.startsWith('api/') &&
    file !== 'api/drivers/modules/modules.ts' &&
    !folders.some((folder) => file.startsWith(folder))
  const isNamed = (name: unknown) => names.some((known) => known === name)
  const named = product.filter(isAbove).flatMap((source) => [
    ...ownImports(source)
      .filter(({ file }) => folders.some((folder) => file.startsWith(folder)))
      .map(({ file }) => `${source.file} imports ${file}`),
    ...source.nodes
      .filter(({ node }) => (node.type === 'Literal' ? isNamed(node.value) : isNamed(node.name)))
      .map(({ node }) => place(source, node)),
  ])
  refuse(
    named,
    'each such place has to be found and changed for a new driver.',
    'ask the driver’s module (api/drivers/module.ts); only the list in api/drivers/modules/modules.ts names drivers.',
  )
})

test('the product does not import tests', () => {
  const wrong = product.flatMap((source) =>
    ownImports(source)
      .filter(({ file }) => isTest(file))
      .map(({ file }) => `${source.file} imports ${file}`),
  )
  refuse(
    wrong,
    'code that only tests need is not written to run for customers.',
    'move what both need into the product.',
  )
})

test('the client is self-contained: it imports nothing of the service, of Node or of other packages', () => {
  // The build scripts and the examples are not in the package.
  const isShipped = (file: string) => /^sdk\/[\w-]+\.ts$/.test(file) && !/\/(build|generate)\.ts$/.test(file)
  const wrong = product
    .filter(({ file }) => isShipped(file))
    .flatMap(({ file, imports }) =>
      imports
        .filter(({ from }) => !/^\.\/[\w-]+\.ts$/.test(from))
        .map(({ from }) => `${file} imports ${from}`),
    )
  refuse(
    wrong,
    'customers run it in browsers and beside packages of their own, and the service must be free to change inside.',
    'use what Node and browsers both have; what it knows of the service comes from openapi.json.',
  )
})

test('the command line knows the service only through the client', () => {
  const wrong = product
    .filter(({ file }) => file.startsWith('cli/'))
    .flatMap(({ file, imports }) =>
      imports
        .filter(({ from }) => from.startsWith('.'))
        .filter(({ from }) => !path.posix.join(path.posix.dirname(file), from).startsWith('cli/'))
        .map(({ from }) => `${file} imports ${from}`),
    )
  refuse(
    wrong,
    'it runs on customers’ machines against services of other versions.',
    'import @berth/sdk, and add there what it lacks.',
  )
})

test('the console knows the service only through the client, and its parts import only from floors below', () => {
  const floor = (file: string) => {
    const [, part = ''] = /^console\/src\/(\w+)\//.exec(file) ?? []
    return part === 'app' ? 2 : part === '' || part === 'ui' ? 0 : 1
  }
  const own = product.filter(({ file }) => file.startsWith('console/src/'))
  const wrong = own.flatMap((source) =>
    ownImports(source)
      .filter(({ file }) => !file.startsWith('console/src/') || floor(file) > floor(source.file))
      .filter(() => source.file !== 'console/src/main.tsx')
      .map(({ file }) => `${source.file} imports ${file}`),
  )
  refuse(
    wrong,
    'it is a client of the API like any other; and a page that knows the shell around it can’t be moved or tested alone.',
    'import @berth/sdk, and add there what it lacks; what two features need stands beside main.tsx or in ui/.',
  )
})

test('no folder has a name that says nothing', () => {
  const empty = ['util', 'utils', 'common', 'shared', 'helpers', 'core', 'lib']
  const folders = new Set(sources.map(({ file }) => path.posix.dirname(file)))
  refuse(
    [...folders].filter((folder) => folder.split('/').some((name) => empty.includes(name))),
    'such a folder attracts everything, and a search for it finds nothing in particular.',
    'name it after what is in it, or put each file beside its only user.',
  )
})

// ---- how a file is written ----

/** Printed by npm run generate: nobody reads or writes it by hand. */
const isGenerated = (file: string) => file === 'sdk/openapi.ts'

test('files are short', () => {
  const long = sources
    .filter(({ file }) => !isGenerated(file))
    .map(({ file, lines }) => ({ file, count: lines.length - 1, most: isTest(file) ? 600 : 400 }))
    .filter(({ count, most }) => count > most)
    .map(({ file, count, most }) => `${file} has ${count} lines; ${most} are allowed`)
  refuse(
    long,
    'a file that does not fit into one reading hides a second subject.',
    'find that subject and give it its own file.',
  )
})

test('functions are short', () => {
  // A component's markup is a page as much as a program: it may be twice as long.
  const isComponent = ({ file }: Source, { type, id }: Node) =>
    file.endsWith('.tsx') && type === 'FunctionDeclaration' && isNode(id) && /^[A-Z]/.test(String(id.name))
  const kinds = ['FunctionDeclaration', 'FunctionExpression', 'ArrowFunctionExpression']
  // A list of tests is a table of contents, not a function with one task.
  const holdsTests = (source: Source, node: Node) =>
    isTest(source.file) && /^ *(test|describe)[.(]/m.test(source.text.slice(node.start, node.end))
  const long = sources.flatMap((source) =>
    source.nodes
      .filter(({ node }) => kinds.includes(node.type) && !holdsTests(source, node))
      .map(({ node }) => ({
        node,
        count: lineOf(source, node.end) - lineOf(source, node.start) + 1,
        most: isComponent(source, node) ? 120 : 60,
      }))
      .filter(({ count, most }) => count > most)
      .map(({ node, count, most }) => `${place(source, node)} has ${count} lines; ${most} are allowed`),
  )
  refuse(
    long,
    'a function that does not fit on a screen does more than one thing.',
    'name its parts, and call them.',
  )
})

/** A package is imported by its name, so its only entry must export again what it offers. */
const isEntry = (file: string) => file === 'sdk/index.ts'

test('there are no barrel files', () => {
  const barrels = sources.filter(
    ({ file, nodes }) =>
      !isEntry(file) &&
      nodes.some(
        ({ node }) =>
          node.type === 'ExportAllDeclaration' || (node.type === 'ExportNamedDeclaration' && node.source),
      ),
  )
  refuse(
    barrels.map(({ file }) => `${file} exports what another file defines`),
    'with barrels a name has two addresses, imports load half the program, and cycles form unnoticed.',
    'import from the file that defines it.',
  )
})

/** Files whose loader requires a default export. */
const needsDefault = (file: string) =>
  /(^|\/)(vite|vitest|playwright)\.config\.ts$/.test(file) || file === 'test/harness/postgres.ts'

test('there are no default exports', () => {
  const wrong = sources
    .filter(({ file }) => !needsDefault(file))
    .flatMap((source) =>
      source.nodes
        .filter(({ node }) => node.type === 'ExportDefaultDeclaration')
        .map(({ node }) => place(source, node)),
    )
  refuse(
    wrong,
    'a thing without a fixed name is found by no search and renamed by no tool.',
    'export it by name.',
  )
})

test('no value has the type any, not even one that JSON.parse returns', () => {
  const isUntyped = ({ file, text }: Source, { type, start }: Node, parent: Node | null) =>
    file.endsWith('.ts') &&
    !isTest(file) &&
    type === 'CallExpression' &&
    text.startsWith('JSON.parse(', start) &&
    parent?.type !== 'TSAsExpression' &&
    !(isNode(parent?.id) && parent.id.typeAnnotation)
  const isExcused = (source: Source, node: Node) =>
    isTest(source.file) &&
    /biome-ignore lint\/suspicious\/noExplicitAny: ./.test(source.lines[lineOf(source, node.start) - 2] ?? '')
  const wrong = sources.flatMap((source) =>
    source.nodes
      .filter(
        ({ node, parent }) =>
          (node.type === 'TSAnyKeyword' && !isExcused(source, node)) || isUntyped(source, node, parent),
      )
      .map(({ node }) => place(source, node)),
  )
  refuse(
    wrong,
    'any switches the type checker off for all that it touches.',
    'say unknown and narrow it, or name the type.',
  )
})

test('every type assertion has its reason beside it', () => {
  const kinds = ['TSAsExpression', 'TSTypeAssertion', 'TSNonNullExpression']
  const isConst = ({ typeAnnotation }: Node) =>
    isNode(typeAnnotation) && isNode(typeAnnotation.typeName) && typeAnnotation.typeName.name === 'const'
  const hasReason = (source: Source, node: Node) => {
    // From the line before the expression to the line on which the assertion stands.
    const [first, last] = [lineOf(source, node.start) - 2, lineOf(source, node.end)]
    return source.lines
      .slice(Math.max(0, first), last)
      .some((line) => /(^|\s)\/\/ \S|^\s*\/?\*.*\w/.test(line))
  }
  const wrong = product.flatMap((source) =>
    source.nodes
      .filter(
        ({ node, parent }) =>
          kinds.includes(node.type) &&
          !kinds.includes(parent?.type ?? '') &&
          !isConst(node) &&
          !hasReason(source, node),
      )
      .map(
        ({ node }) =>
          `${place(source, node)}  ${source.text.slice(node.start, node.end).replace(/\s+/g, ' ')}`,
      ),
  )
  refuse(
    wrong,
    '"as X" and "!" tell the compiler to believe us; a reader must be able to check why it should.',
    'let the types prove it; where they cannot, say in a comment on that line or the one before why it is true.',
  )
})

// ---- documents ----

const documents = files.filter((file) => file.endsWith('.md'))
// A changelog may name files that were removed later.
const current = documents.filter((file) => file !== 'CHANGELOG.md')
const scripts: Record<string, string> = JSON.parse(read('package.json')).scripts

/** Text set as code, and targets of links. */
function namedIn(document: string): string[] {
  const text = read(document)
  const blocks = [...text.matchAll(/^```.*\n([\s\S]*?)^```/gm)].flatMap(
    ([, block]) => block?.split(/\s+/) ?? [],
  )
  const spans = [...text.replace(/^```[\s\S]*?^```/gm, '').matchAll(/`([^`\n]+)`/g)].flatMap(
    ([, span]) => span?.split(/\s+/) ?? [],
  )
  const links = [...text.matchAll(/\]\(([^)#\s]+)/g)].flatMap(([, link]) => link ?? [])
  return [...blocks, ...spans, ...links].map((word) => word.replace(/^[('"]+|[)'",;:.]+$/g, ''))
}

test('every path that the documents name exists', () => {
  const isPath = (word: string) =>
    /^(\.\/)?[\w@.-]+(\/[\w@.-]+)*\/?$/.test(word) &&
    (/\w\.(ts|tsx|mjs|md|json|yaml|sh|html)$/.test(word) ||
      /^(\.\/)?(api|test|docs|bench|sdk|cli|console|\.ci)\//.test(word))
  const missing = current.flatMap((document) =>
    namedIn(document)
      .filter(
        (word) =>
          isPath(word) && !exists(word) && !exists(path.posix.join(path.posix.dirname(document), word)),
      )
      // A build creates `dist`, and the reader creates `first.mjs`.
      .filter((word) => !word.endsWith('/dist') && word !== 'first.mjs')
      // "store.ts" alone is the name that such a file has in every feature.
      .filter((word) => word.includes('/') || !files.some((file) => path.posix.basename(file) === word))
      .map((word) => `${document}: ${word}`),
  )
  refuse([...new Set(missing)], 'a wrong map is worse than no map.', 'correct the document.')
})

test('every npm script that the documents name exists', () => {
  const missing = current.flatMap((document) => {
    const text = read(document)
    const named = [...text.matchAll(/\bnpm (?:run ([\w:-]+)|(start|test)\b)/g)].map(
      ([, script, short]) => script ?? short ?? '',
    )
    return named.filter((script) => !(script in scripts)).map((script) => `${document}: npm run ${script}`)
  })
  refuse(
    missing,
    'a command that fails is the worst first impression.',
    'correct the document, or add the script.',
  )
})

// ---- dependencies ----

interface Package {
  folder: string
  dependencies: Record<string, string>
  scripts: Record<string, string>
}

const packages: Package[] = ['.', ...JSON.parse(read('package.json')).workspaces].map((folder: string) => {
  const text = JSON.parse(read(path.posix.join(folder, 'package.json')))
  return {
    folder,
    dependencies: { ...text.dependencies, ...text.devDependencies },
    scripts: text.scripts ?? {},
  }
})
const workspaceNames = packages.map(
  ({ folder }) => JSON.parse(read(path.posix.join(folder, 'package.json'))).name,
)

/** `@scope/name/part` and `name/part` belong to the packages `@scope/name` and `name`. */
const packageOf = (from: string) => from.split('/', from.startsWith('@') ? 2 : 1).join('/')
const importedBy = (folder: string) => {
  const isInside = (file: string) => folder === '.' || file.startsWith(`${folder}/`)
  const named = sources
    .filter(({ file }) => isInside(file))
    .flatMap(({ imports }) => imports.map(({ from }) => from))
  // A font is loaded by a style, or as a file.
  const fonts = sources.filter(({ file }) => isInside(file))
  named.push(...fonts.flatMap(({ text }) => text.match(/(?<=\bresolve\(')[^'.][^']*\.ttf/g) ?? []))
  const styles = files.filter((file) => file.endsWith('.css') && isInside(file))
  for (const file of styles)
    named.push(...[...read(file).matchAll(/url\("(?!data:)([^"]+)"\)/g)].flatMap(([, from]) => from ?? []))
  return new Set(named.filter((from) => !from.startsWith('.') && !from.startsWith('node:')).map(packageOf))
}

/** A command of the package is called by a script, or by the runner of the tests. */
function isCalled(name: string): boolean {
  const manifest = `node_modules/${name}/package.json`
  const { bin = {} } = exists(manifest) ? JSON.parse(read(manifest)) : {}
  const commands = typeof bin === 'string' ? [name] : Object.keys(bin)
  const callers = `${Object.values(scripts).join('\n')}\n${read('test/run.ts')}`
  return commands.some((command) => new RegExp(`(^|[\\s'/])${command}($|[\\s'])`, 'm').test(callers))
}

test('every dependency is used', () => {
  const unused = packages.flatMap(({ folder, dependencies }) => {
    const imported = importedBy(folder)
    const isUsed = (name: string) => imported.has(name) || isCalled(name)
    const typed = (name: string) => name.replace('@types/', '')
    return Object.keys(dependencies)
      .filter(
        (name) =>
          !isUsed(name) && !(name.startsWith('@types/') && (typed(name) === 'node' || isUsed(typed(name)))),
      )
      .map((name) => `${name} in ${path.posix.join(folder, 'package.json')}`)
  })
  refuse(unused, 'each dependency is code of strangers that has to be kept up to date.', 'npm uninstall it.')
})

test('every package that is imported is a dependency', () => {
  const undeclared = packages.flatMap(({ folder, dependencies }) => {
    const known = new Set([
      ...Object.keys(dependencies),
      ...Object.keys(packages[0]?.dependencies ?? {}),
      ...workspaceNames,
    ])
    // The root's own files are the tests, which may use what any workspace uses.
    const inherited = folder === '.' ? packages.flatMap((entry) => Object.keys(entry.dependencies)) : []
    return [...importedBy(folder)]
      .filter((name) => !known.has(name) && !inherited.includes(name))
      .map((name) => `${name} in ${path.posix.join(folder, 'package.json')}`)
  })
  refuse(
    undeclared,
    'a package that is installed only for another one can disappear with its next release.',
    'npm install it, pinned.',
  )
})

test('package-lock.json has every package, also those for other systems', () => {
  interface Locked {
    optionalDependencies?: Record<string, string>
  }
  const locked: Record<string, Locked> = JSON.parse(read('package-lock.json')).packages
  const lost = Object.entries(locked).flatMap(([owner, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !Object.keys(locked).some((entry) => entry.endsWith(`node_modules/${name}`)))
      .map((name) => `${name}, which ${owner} names`),
  )
  refuse(
    lost,
    'npm ci refuses such a file, and with it the first npm start of every newcomer.',
    'add the entries by hand, as those beside them but without integrity (a registry that lacks them left them out).',
  )
})

test('versions are pinned exactly', () => {
  const loose = packages.flatMap(({ folder, dependencies }) =>
    Object.entries(dependencies)
      .filter(
        ([name, version]) => !workspaceNames.includes(name) && !/^\d+\.\d+\.\d+(-[\w.]+)?$/.test(version),
      )
      .map(([name, version]) => `${name} ${version} in ${path.posix.join(folder, 'package.json')}`),
  )
  refuse(
    loose,
    'the same checkout must be the same program, today and in a year.',
    'npm install --save-exact.',
  )
})

test('there are no more npm scripts than people remember', () => {
  const names = Object.keys(scripts)
  refuse(
    names.length > 12 ? names : [],
    'twelve fit on a screen; more hide the two that matter.',
    'move some into a program with arguments.',
  )
})

// ---- what operators read ----

test('fields of the log are named as in the API', () => {
  const isLog = ({ type, callee }: Node) =>
    type === 'CallExpression' &&
    isNode(callee) &&
    isNode(callee.property) &&
    /^(trace|debug|info|warn|error|fatal)$/.test(String(callee.property.name))
  const camel = product
    .filter(({ file }) => file.startsWith('api/'))
    .flatMap((source) =>
      source.nodes.flatMap(({ node }) => {
        const [fields] = isLog(node) && Array.isArray(node.arguments) ? node.arguments : []
        if (!isNode(fields) || !Array.isArray(fields.properties)) return []
        const names = fields.properties.flatMap(({ key }) => (isNode(key) ? [String(key.name)] : []))
        return names.some((name) => /[A-Z]/.test(name)) ? [place(source, node)] : []
      }),
    )
  refuse(camel, 'a search for a server finds half of its lines.', 'write server_id: serverId.')
})

// ---- what does not belong in a public checkout ----

test('nothing names a mirror, a private host or a place on a developer’s machine', () => {
  const forbidden = [
    /\b(?:deb|security)\.debian\.org\b|\barchive\.ubuntu\.com\b/, // the host decides where packages come from
    /\bregistry\.[\w-]+\.\w|\bmirrors?\.[\w-]+\.\w|\b(?:artifactory|verdaccio|nexus)\b/i,
    /https?:\/\/(?:10|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d/,
    /(?:^|[\s'"`(=:])\/(?:Users|home|work)\/\w/m,
  ]
  const wrong = files
    .filter(
      (file) =>
        file !== 'test/rules.test.ts' &&
        !/\.(png|jpg|ico|woff2|gz)$/.test(file) &&
        statSync(path.join(root, file)).size < 1e6,
    )
    .flatMap((file) =>
      forbidden.flatMap((pattern) => {
        const found = pattern.exec(read(file))
        return found ? [`${file}: ${found[0].trim()}`] : []
      }),
    )
  const resolved = [...read('package-lock.json').matchAll(/"resolved": "([^"]+)"/g)].flatMap(
    ([, from]) => from ?? [],
  )
  const strange = resolved.filter(
    (from) => /^(https?|git)/.test(from) && !from.startsWith(`https://${'registry'}.npmjs.org/`),
  )
  refuse(
    [...wrong, ...strange.map((from) => `package-lock.json: ${from}`)],
    'it works on one machine only, and tells strangers about it.',
    'take it from the host’s own settings; for package-lock.json: npm config set omit-lockfile-registry-resolved true.',
  )
})
