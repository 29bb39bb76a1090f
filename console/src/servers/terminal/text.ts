import { messages } from '../../messages.ts'

export const useTerminalText = messages({
  en: {
    connecting: 'Connecting…',
    connected: 'Connected to the serial console, which works even without a network.',
    off: 'The server is off. Start it to use its console.',
    again: 'Reconnect',
    fullScreen: 'Full screen',
    screen: 'Serial console',
    endings: {
      server_off: 'The server was switched off.',
      access_ended: 'Your session ended.',
      idle: 'Disconnected after a long time without input.',
      place_given_up: 'All consoles are taken, and your account had most of them.',
      service_stopping: 'The service is restarting.',
      disconnected: 'The connection was lost.',
    },
  },
  ru: {
    connecting: 'Подключение…',
    connected: 'Подключено к последовательной консоли. Она работает и без сети.',
    off: 'Сервер выключен. Запустите его, чтобы открыть консоль.',
    again: 'Подключиться',
    fullScreen: 'На весь экран',
    screen: 'Последовательная консоль',
    endings: {
      server_off: 'Сервер выключен.',
      access_ended: 'Сеанс завершён.',
      idle: 'Отключено из-за долгого бездействия.',
      place_given_up: 'Все консоли заняты, и больше всего их было у вашего аккаунта.',
      service_stopping: 'Сервис перезапускается.',
      disconnected: 'Связь потеряна.',
    },
  },
})
