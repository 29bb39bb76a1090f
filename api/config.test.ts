import path from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError, readConfig, settings } from './config.ts'

test('without settings the defaults hold, and the whole is frozen', () => {
  const config = readConfig({})
  expect(config).toMatchObject({
    host: '127.0.0.1',
    port: 8080,
    dataDir: path.resolve('data'),
    catalogFile: path.resolve('catalog.yaml'),
    compute: 'auto',
    accel: 'auto',
    sshPorts: { first: 22000, last: 22999 },
    sampleSeconds: 10,
    logLevel: settings.logLevel.fallback,
  })
  expect(Object.isFrozen(config)).toBe(true)
})

test('a flag wins over the environment, and an empty variable is none', () => {
  expect(readConfig({ PORT: '1' }, { port: '2' }).port).toBe(2)
  expect(readConfig({ PORT: '1' }).port).toBe(1)
  expect(readConfig({ PORT: '', HOST: '' })).toMatchObject({ port: 8080, host: '127.0.0.1' })
  expect(readConfig({ HOST: '::', PORT: '0', BERTH_SSH_PORTS: '1024-65535' })).toMatchObject({
    host: '::',
    port: 0,
    sshPorts: { first: 1024, last: 65535 },
  })
})

test('guests listen where the API does unless told otherwise, and customers are shown a plain name', () => {
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

test('proxies are named by address or range, and nobody is one by himself', () => {
  expect(readConfig({}).trustProxy).toEqual([])
  expect(readConfig({ BERTH_TRUST_PROXY: '127.0.0.1, 10.1.0.0/16,fd00::1' }).trustProxy).toEqual([
    '127.0.0.1/32',
    '10.1.0.0/16',
    'fd00::1/128',
  ])
})

test.each([
  ['host', 'two words'],
  ['port', '-1'],
  ['port', '65536'],
  ['port', '80.5'],
  ['port', '0x50'],
  ['compute', 'QEMU'],
  ['accel', 'hvf'],
  ['sshPorts', '22000'],
  ['sshPorts', '22999-22000'],
  ['sshPorts', '80-90'],
  ['sshPorts', '60000-70000'],
  ['sampleSeconds', '0'],
  ['sampleSeconds', '7'],
  ['sampleSeconds', '120'],
  ['sampleSeconds', '10.5'],
  ['webhookAllow', '10.0.0.0/33'],
  ['trustProxy', 'true'],
  ['trustProxy', '10.0.0.1:80'],
  ['trustProxy', '::/0'],
  ['logLevel', 'verbose'],
] as const)('%s can not be "%s", and the sentence names it and says why', (name, value) => {
  const read = () => readConfig({ [settings[name].env]: value })
  expect(read).toThrow(ConfigError)
  expect(read).toThrow(`${settings[name].env} (${settings[name].flag}) is "${value}": it must be`)
})
