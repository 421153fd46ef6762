export type { RedisClient } from "./store/redis/client.ts";
export type { RedisStoreOptions } from "./store/redis/redis.ts";
export { redisStore } from "./store/redis/redis.ts";
export { redisBus } from "./store/redis/redis-bus.ts";
