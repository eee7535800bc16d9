package fencepost;

import jdk.internal.misc.Unsafe;

import java.lang.ref.Reference;
import java.lang.ref.WeakReference;
import java.lang.reflect.Array;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Copies of object graphs, field by field, of any class, lambdas among them.
 *
 * What never changes is shared (see {@link Shared}); maps by identity are made again, as their order is that of
 * addresses.
 */
final class DeepCopy {
    private static final Unsafe UNSAFE = Unsafe.getUnsafe();
    private static final ClassValue<Slot[]> SLOTS = new ClassValue<>() {
        @Override
        protected Slot[] computeValue(Class<?> type) {
            List<Slot> found = new ArrayList<>();
            for (Class<?> one = type; one != null; one = one.getSuperclass()) {
                for (Field field : one.getDeclaredFields()) {
                    if (!Modifier.isStatic(field.getModifiers())) {
                        found.add(new Slot(UNSAFE.objectFieldOffset(field), field.getType()));
                    }
                }
            }
            return found.toArray(new Slot[0]);
        }
    };

    private record Slot(long offset, Class<?> type) {
    }

    private final IdentityHashMap<Object, Object> copies = new IdentityHashMap<>();
    private final ArrayDeque<Object> toFill = new ArrayDeque<>();

    private DeepCopy() {
    }

    /** An object in the same state, which shares nothing with this one that can change. */
    @SuppressWarnings("unchecked")
    static <T> T of(T root) {
        DeepCopy copy = new DeepCopy();
        Object made = copy.copy(root);
        for (Object original = copy.toFill.poll(); original != null; original = copy.toFill.poll()) {
            copy.fill(original, copy.copies.get(original));
        }
        return (T) made;
    }

    private Object copy(Object original) {
        if (original == null || Shared.is(original)) {
            return original;
        }
        Object known = copies.get(original);
        if (known == null) {
            known = blank(original);
            copies.put(original, known);
            toFill.add(original);
        }
        return known;
    }

    private Object blank(Object original) {
        Class<?> type = original.getClass();
        if (type.isArray()) {
            return Array.newInstance(type.getComponentType(), Array.getLength(original));
        }
        if (original instanceof IdentityHashMap) {
            return new IdentityHashMap<>();
        }
        if (original instanceof WeakReference<?> reference) {
            return new WeakReference<>(copy(reference.get()));
        }
        if (original instanceof Reference || original instanceof Thread || original instanceof ClassLoader) {
            throw new IllegalStateException("a " + type.getName() + " cannot be copied");
        }
        try {
            return UNSAFE.allocateInstance(type);
        } catch (InstantiationException e) {
            throw new IllegalStateException(type.getName(), e);
        }
    }

    private void fill(Object original, Object made) {
        Class<?> type = original.getClass();
        if (type.isArray()) {
            fillArray(original, made, type.getComponentType());
        } else if (original instanceof IdentityHashMap<?, ?> map) {
            @SuppressWarnings("unchecked")
            Map<Object, Object> into = (Map<Object, Object>) made;
            map.forEach((key, value) -> into.put(copy(key), copy(value)));
        } else if (!(original instanceof Reference)) {
            for (Slot slot : SLOTS.get(type)) {
                fillSlot(original, made, slot);
            }
        }
    }

    private void fillArray(Object original, Object made, Class<?> component) {
        int length = Array.getLength(original);
        if (component.isPrimitive()) {
            System.arraycopy(original, 0, made, 0, length);
            return;
        }
        Object[] from = (Object[]) original;
        Object[] to = (Object[]) made;
        for (int i = 0; i < length; i++) {
            to[i] = copy(from[i]);
        }
    }

    private void fillSlot(Object original, Object made, Slot slot) {
        long at = slot.offset;
        Class<?> type = slot.type;
        if (!type.isPrimitive()) {
            UNSAFE.putReference(made, at, copy(UNSAFE.getReference(original, at)));
        } else if (type == int.class || type == float.class) {
            UNSAFE.putInt(made, at, UNSAFE.getInt(original, at));
        } else if (type == long.class || type == double.class) {
            UNSAFE.putLong(made, at, UNSAFE.getLong(original, at));
        } else if (type == boolean.class || type == byte.class) {
            UNSAFE.putByte(made, at, UNSAFE.getByte(original, at));
        } else {
            UNSAFE.putShort(made, at, UNSAFE.getShort(original, at));
        }
    }
}
