package fencepost;

import jdk.internal.misc.Unsafe;

import java.lang.reflect.Field;

/** Immutable sets and maps, whose order is another one in each JVM, get one order. */
final class Orders {
    private Orders() {
    }

    /** To be called before any is made that matters. */
    static void fix() throws ReflectiveOperationException {
        Unsafe unsafe = Unsafe.getUnsafe();
        Class<?> collections = Class.forName("java.util.ImmutableCollections");
        Field salt = collections.getDeclaredField("SALT32L");
        Field reverse = collections.getDeclaredField("REVERSE");
        unsafe.putLong(unsafe.staticFieldBase(salt), unsafe.staticFieldOffset(salt), 0);
        unsafe.putBoolean(unsafe.staticFieldBase(reverse), unsafe.staticFieldOffset(reverse), false);
    }
}
