export declare const images: Readonly<Record<'mongodb' | 'redis' | 'rabbitmq', string>>;
