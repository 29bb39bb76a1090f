import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ConfigError, readConfig } from './config.ts'
import { defaultDataDir } from './files.ts'
import { settings } from './settings.ts'

test('without settings the defaults hold, and the whole is frozen', () => {
  const config = readConfig({})
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    dataDir: defaultDataDir(),
    catalogFile: path.join(defaultDataDir(), 'catalog.yaml'),
    compute: 'auto',
    accel: 'auto',
    sshPorts: { first: 22000, last: 22999 },
    sampleSeconds: 10,
    logLevel: settings.logLevel.fallback,
  })
  expect(Object.isFrozen(config)).toBe(true)
})

test('the data folder is in the checkout, unless root runs Berth where nobody else can enter; an existing one stays', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const places = { checkout: path.join(folder, 'berth/data'), system: path.join(folder, 'system') }
  const byDefault = (isRoot: boolean) => path.relative(folder, defaultDataDir(isRoot, places))
  const install = (place: string) => {
    mkdirSync(place, { recursive: true })
    writeFileSync(path.join(place, 'berth.db'), '')
  }
  // The folder is closed to others, as /root is.
  expect([byDefault(false), byDefault(true)]).toEqual(['berth/data', 'system'])
  chmodSync(folder, 0o711)
  expect([byDefault(false), byDefault(true)]).toEqual(['berth/data', 'berth/data'])
  install(places.system)
  expect([byDefault(false), byDefault(true)]).toEqual(['berth/data', 'system'])
  install(places.checkout)
  chmodSync(folder, 0o700)
  expect([byDefault(false), byDefault(true)]).toEqual(['berth/data', 'berth/data'])
})

test('the catalogue is in the data folder, unless another file is named', () => {
  expect(readConfig({ BERTH_DATA: '/srv/berth' }).catalogFile).toBe('/srv/berth/catalog.yaml')
  expect(readConfig({ BERTH_CATALOG: '/etc/catalog.yaml' }).catalogFile).toBe('/etc/catalog.yaml')
})

test('a flag takes precedence over the environment, and an empty variable counts as unset', () => {
  expect(readConfig({ PORT: '1' }, { port: '2' }).port).toBe(2)
  expect(readConfig({ PORT: '1' }).port).toBe(1)
  expect(readConfig({ PORT: '', HOST: '' })).toMatchObject({ port: 8080, host: '127.0.0.1' })
  expect(readConfig({ HOST: '::', PORT: '0', BERTH_SSH_PORTS: '1024-65535' })).toMatchObject({
    host: '::',
    port: 0,
    sshPorts: { first: 1024, last: 65535 },
  })
})

test('guests’ ports listen where the API does by default, and customers are shown a plain name', () => {
  expect(readConfig({ HOST: '192.0.2.1' })).toMatchObject({ guestHost: '192.0.2.1', publicName: null })
  const own = { HOST: '127.0.0.1', BERTH_GUEST_HOST: '192.0.2.1', BERTH_PUBLIC_NAME: 'cloud.example.com' }
  expect(readConfig(own)).toMatchObject({
    host: '127.0.0.1',
    guestHost: '192.0.2.1',
    publicName: 'cloud.example.com',
  })
  for (const BERTH_PUBLIC_NAME of ['https://cloud.example.com', 'cloud.example.com:8080', '::1', 'a b'])
    expect(() => readConfig({ BERTH_PUBLIC_NAME })).toThrow(ConfigError)
})

test('proxies are listed by address or range, and by default no proxy is trusted', () => {
  expect(readConfig({}).trustProxy).toEqual([])
  expect(readConfig({ BERTH_TRUST_PROXY: '127.0.0.1, 10.1.0.0/16,fd00::1' }).trustProxy).toEqual([
    '127.0.0.1/32',
    '10.1.0.0/16',
    'fd00::1/128',
  ])
})

test('a provider needs an id, and its secret may be in a file', () => {
  const own = { BERTH_OIDC_ISSUER: 'https://id.example', BERTH_OIDC_CLIENT_ID: 'berth' }
  expect(readConfig(own).oidc).toMatchObject({ clientId: 'berth', clientSecret: null })
  const folder = mkdtempSync(path.join(tmpdir(), 'berth-config-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(path.join(folder, 'secret'), 'hush\n')
  const read = (BERTH_OIDC_CLIENT_SECRET: string) => readConfig({ ...own, BERTH_OIDC_CLIENT_SECRET }).oidc
  expect(read('plain')?.clientSecret).toBe('plain')
  expect(read(`file:${folder}/secret`)?.clientSecret).toBe('hush')
  expect(() => read(`file:${folder}/none`)).toThrow('BERTH_OIDC_CLIENT_SECRET')
  expect(() => readConfig({ BERTH_OIDC_ISSUER: 'https://id.example' })).toThrow('BERTH_OIDC_CLIENT_ID')
})

test.each([
  ['host', 'two words'],
  ['port', '-1'],
  ['port', '65536'],
  ['port', '80.5'],
  ['port', '0x50'],
  ['compute', 'QEMU'],
  ['accel', 'hvf'],
  ['isPublic', 'yes'],
  ['sshPorts', '22000'],
  ['sshPorts', '22999-22000'],
  ['sshPorts', '80-90'],
  ['sshPorts', '60000-70000'],
  ['sampleSeconds', '0'],
  ['sampleSeconds', '7'],
  ['sampleSeconds', '120'],
  ['sampleSeconds', '10.5'],
  ['webhookAllow', '10.0.0.0/33'],
  ['oidcIssuer', 'http://accounts.example.com'],
  ['oidcIssuer', 'accounts.example.com'],
  ['trustProxy', 'true'],
  ['trustProxy', '10.0.0.1:80'],
  ['trustProxy', '::/0'],
  ['logLevel', 'verbose'],
] as const)('%s can not be "%s", and the sentence names it and says why', (name, value) => {
  const read = () => readConfig({ [settings[name].env]: value })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(`${settings[name].env} (${settings[name].flag}) is "${value}": it must be`)
})

test('the place off site is a folder or a bucket, and a mistake in its URL is refused without its secret', () => {
  const place = (offsite: string) => readConfig({}, { offsite }).offsite
  expect(readConfig({}).offsite).toBeNull()
  expect(place('/mnt/offsite/')).toBe('/mnt/offsite')
  expect(place('s3://AK:a%2Fb@s3.example.com/bucket/berth/?region=eu-1')).toEqual({
    url: 'https://s3.example.com/bucket/berth',
    ...{ region: 'eu-1', accessKeyId: 'AK', secretAccessKey: 'a/b' },
  })
  expect(place('s3+http://AK:b@127.0.0.1:9000/bucket')).toMatchObject({
    url: 'http://127.0.0.1:9000/bucket',
    region: 'us-east-1',
  })
  for (const wrong of [
    'offsite',
    's3://bucket/path',
    's3://AK:hush@host',
    'https://AK:hush@host/bucket',
    's3://AK:%@h/b',
  ])
    expect(() => place(wrong)).toThrow(
      expect.not.objectContaining({ message: expect.stringContaining('hush') }),
    )
})

test('a name server for reverse DNS names has its key in its URL, which no message shows', () => {
  const rdns = (value: string) => readConfig({ BERTH_RDNS: value }).rdns
  expect(rdns('pdns+https://k/e+y=@dns.example.com:8081')).toMatchObject({ kind: 'pdns', key: 'k/e+y=' })
  expect(rdns('pdns+http://key@127.0.0.1:8081')).toMatchObject({ url: new URL('http://127.0.0.1:8081') })
  expect(rdns('rfc2136://berth.:c2Vj/mV0+A==@[::1]:5353?algorithm=hmac-sha512')).toEqual({
    ...{ kind: 'rfc2136', server: '::1 5353', key: 'hmac-sha512:berth. c2Vj/mV0+A==' },
  })
  const wrong = [
    'pdns+http://sesame@dns.example.com',
    'rfc2136://dns.example.com',
    'rfc2136://a:se same@b',
    'sesame',
  ]
  for (const value of wrong) {
    expect(() => rdns(value)).toThrow(/BERTH_RDNS .* "…": it must be a URL such as pdns/)
    expect(() => rdns(value)).not.toThrow(/sesame/)
  }
})
