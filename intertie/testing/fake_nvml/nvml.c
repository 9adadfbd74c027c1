/* A stand-in for libnvidia-ml.so.1: the calls that Intertie's probes make, over a text file.
 *
 * Loaded in place of the driver's library by LD_LIBRARY_PATH, so that the real nvidia-ml-py talks to
 * it by the real ABI. The file named by FAKE_NVML_STATE has lines `key = value`, read anew at each
 * call, so that a test can change the machine while a program runs. A key that is missing means "not
 * supported". Keys: system.<what>, gpu<I>.<what>, gpu<I>.mig<J>.<what>. Two keys make trouble:
 *   gpu<I>.lost_after = N        after N calls on it the device is lost
 *   gpu<I>.error.<function> = C  that function answers with NVML's code C
 * Written from NVML's published API reference; holds no code of NVIDIA's. Single-threaded.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int nvmlReturn_t;
enum {
    SUCCESS = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    DRIVER_NOT_LOADED = 9,
    TIMEOUT = 10,
    GPU_IS_LOST = 15,
};
enum { MAX_GPUS = 16, MAX_MIGS = 8, TEXT = 256 };

/* A handle points at its place in one of these tables; mig -1 is the GPU itself. */
struct nvmlDevice_st { int gpu, mig; };
typedef struct nvmlDevice_st *nvmlDevice_t;
static struct nvmlDevice_st devices[MAX_GPUS][MAX_MIGS + 1];

typedef struct { unsigned long long total, free, used; } nvmlMemory_t;
typedef struct { unsigned int gpu, memory; } nvmlUtilization_t;
typedef struct {
    char busIdLegacy[16];
    unsigned int domain, bus, device, pciDeviceId, pciSubSystemId;
    char busId[32];
} nvmlPciInfo_t;
typedef struct {
    unsigned int multiprocessorCount, sharedCopyEngineCount, sharedDecoderCount, sharedEncoderCount,
        sharedJpegCount, sharedOfaCount, gpuInstanceSliceCount, computeInstanceSliceCount;
    unsigned long long memorySizeMB;
} nvmlDeviceAttributes_t;
typedef struct {
    nvmlDevice_t device;
    unsigned long long eventType, eventData;
    unsigned int gpuInstanceId, computeInstanceId;
} nvmlEventData_t;

static int initialised;
static int calls[MAX_GPUS];
static int xids_told[MAX_GPUS];
static int watched[MAX_GPUS];

/* The value of a key, or 0. */
static int find(const char *key, char value[TEXT])
{
    const char *path = getenv("FAKE_NVML_STATE");
    FILE *file = path ? fopen(path, "r") : NULL;
    char line[2 * TEXT];
    int found = 0;
    if (file == NULL)
        return 0;
    while (!found && fgets(line, sizeof line, file) != NULL) {
        char *equals = strstr(line, " = ");
        if (equals == NULL)
            continue;
        *equals = '\0';
        if (strcmp(line, key) == 0) {
            found = 1;
            snprintf(value, TEXT, "%.*s", TEXT - 1, equals + 3);
            value[strcspn(value, "\n")] = '\0';
        }
    }
    fclose(file);
    return found;
}

static nvmlReturn_t system_text(const char *key, char *out, unsigned int size)
{
    char value[TEXT];
    if (!initialised)
        return UNINITIALIZED;
    if (!find(key, value))
        return NOT_SUPPORTED;
    if (strlen(value) >= size)
        return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

/* What a call on a device must answer before it is even looked at. */
static nvmlReturn_t enter(nvmlDevice_t device, const char *function)
{
    char key[TEXT], value[TEXT];
    if (!initialised)
        return UNINITIALIZED;
    if (device == NULL)
        return INVALID_ARGUMENT;
    calls[device->gpu]++;
    snprintf(key, TEXT, "gpu%d.lost_after", device->gpu);
    if (find(key, value) && calls[device->gpu] > atoi(value))
        return GPU_IS_LOST;
    snprintf(key, TEXT, "gpu%d.error.%s", device->gpu, function);
    return find(key, value) ? atoi(value) : SUCCESS;
}

static nvmlReturn_t device_text(nvmlDevice_t device, const char *function, const char *what,
                                char value[TEXT])
{
    char key[TEXT], owner[TEXT / 2];
    nvmlReturn_t answer = enter(device, function);
    if (answer != SUCCESS)
        return answer;
    if (device->mig < 0)
        snprintf(owner, sizeof owner, "gpu%d", device->gpu);
    else
        snprintf(owner, sizeof owner, "gpu%d.mig%d", device->gpu, device->mig);
    snprintf(key, sizeof key, "%s.%s", owner, what);
    return find(key, value) ? SUCCESS : NOT_SUPPORTED;
}

/* Reads `count` numbers of one key. */
static nvmlReturn_t device_numbers(nvmlDevice_t device, const char *function, const char *what,
                                   unsigned long long *numbers, int count)
{
    char value[TEXT], *rest = value;
    nvmlReturn_t answer = device_text(device, function, what, value);
    if (answer != SUCCESS)
        return answer;
    for (int i = 0; i < count; i++)
        numbers[i] = strtoull(rest, &rest, 0);
    return SUCCESS;
}

static nvmlReturn_t device_uint(nvmlDevice_t device, const char *function, const char *what,
                                unsigned int *out)
{
    unsigned long long number;
    nvmlReturn_t answer = device_numbers(device, function, what, &number, 1);
    if (answer == SUCCESS)
        *out = (unsigned int)number;
    return answer;
}

static nvmlReturn_t device_string(nvmlDevice_t device, const char *function, const char *what,
                                  char *out, unsigned int size)
{
    char value[TEXT];
    nvmlReturn_t answer = device_text(device, function, what, value);
    if (answer != SUCCESS)
        return answer;
    if (strlen(value) >= size)
        return INSUFFICIENT_SIZE;
    strcpy(out, value);
    return SUCCESS;
}

static void pci_info(const char *bus_id, nvmlPciInfo_t *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->busId, sizeof out->busId, "%s", bus_id);
    if (strlen(bus_id) > 4)
        snprintf(out->busIdLegacy, sizeof out->busIdLegacy, "%.15s", bus_id + 4);
    sscanf(bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
}

static unsigned int gpu_count(void)
{
    char value[TEXT];
    int count = find("system.count", value) ? atoi(value) : 0;
    return (unsigned int)(count < 0 ? 0 : count > MAX_GPUS ? MAX_GPUS : count);
}

/* ---- the library ---- */

nvmlReturn_t nvmlInitWithFlags(unsigned int flags)
{
    char value[TEXT];
    (void)flags;
    if (find("system.error.nvmlInitWithFlags", value))
        return atoi(value);
    if (!find("system.driver", value))
        return DRIVER_NOT_LOADED;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++)
        for (int mig = -1; mig < MAX_MIGS; mig++)
            devices[gpu][mig + 1] = (struct nvmlDevice_st){gpu, mig};
    initialised++;
    return SUCCESS;
}

nvmlReturn_t nvmlShutdown(void)
{
    if (!initialised)
        return UNINITIALIZED;
    initialised--;
    return SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t code)
{
    static char words[TEXT];
    snprintf(words, sizeof words, "stand-in error %d", code);
    return words;
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *out, unsigned int size)
{
    return system_text("system.driver", out, size);
}

nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *out)
{
    char value[TEXT];
    nvmlReturn_t answer = system_text("system.cuda", value, sizeof value);
    if (answer == SUCCESS)
        *out = atoi(value);
    return answer;
}

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *out)
{
    char value[TEXT];
    if (!initialised)
        return UNINITIALIZED;
    if (find("system.error.nvmlDeviceGetCount_v2", value))
        return atoi(value);
    *out = gpu_count();
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *out)
{
    if (!initialised)
        return UNINITIALIZED;
    if (index >= gpu_count())
        return INVALID_ARGUMENT;
    *out = &devices[index][0];
    return enter(*out, __func__);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out)
{
    char key[TEXT], value[TEXT];
    if (!initialised)
        return UNINITIALIZED;
    for (unsigned int gpu = 0; gpu < gpu_count(); gpu++) {
        snprintf(key, sizeof key, "gpu%u.uuid", gpu);
        if (find(key, value) && strcmp(value, uuid) == 0) {
            *out = &devices[gpu][0];
            return enter(*out, __func__);
        }
    }
    return NOT_FOUND;
}

/* ---- a device ---- */

nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char *out, unsigned int size)
{
    return device_string(device, __func__, "uuid", out, size);
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char *out, unsigned int size)
{
    return device_string(device, __func__, "name", out, size);
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *out)
{
    unsigned long long numbers[2];
    nvmlReturn_t answer = device_numbers(device, __func__, "memory", numbers, 2);
    if (answer == SUCCESS)
        *out = (nvmlMemory_t){numbers[0], numbers[0] - numbers[1], numbers[1]};
    return answer;
}

nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, nvmlPciInfo_t *out)
{
    char value[TEXT];
    nvmlReturn_t answer = device_text(device, __func__, "bus_id", value);
    if (answer == SUCCESS)
        pci_info(value, out);
    return answer;
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor)
{
    unsigned long long numbers[2];
    nvmlReturn_t answer = device_numbers(device, __func__, "capability", numbers, 2);
    if (answer == SUCCESS)
        *major = (int)numbers[0], *minor = (int)numbers[1];
    return answer;
}

nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t device, unsigned int *out)
{
    return device_uint(device, __func__, "power_limit", out);
}

nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned int *out)
{
    return device_uint(device, __func__, "power", out);
}

nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t device, int sensor, unsigned int *out)
{
    return sensor == 0 ? device_uint(device, __func__, "temperature", out) : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t device, nvmlUtilization_t *out)
{
    unsigned long long numbers[2];
    nvmlReturn_t answer = device_numbers(device, __func__, "utilization", numbers, 2);
    if (answer == SUCCESS)
        *out = (nvmlUtilization_t){(unsigned int)numbers[0], (unsigned int)numbers[1]};
    return answer;
}

/* ---- health: ecc = enabled corrected uncorrected uncorrected-for-ever; rows = c u pending failed ---- */

nvmlReturn_t nvmlDeviceGetEccMode(nvmlDevice_t device, int *current, int *pending)
{
    unsigned int enabled;
    nvmlReturn_t answer = device_uint(device, __func__, "ecc", &enabled);
    if (answer == SUCCESS)
        *current = *pending = (int)enabled;
    return answer;
}

nvmlReturn_t nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, int uncorrected, int aggregate,
                                         unsigned long long *out)
{
    unsigned long long numbers[4];
    nvmlReturn_t answer = device_numbers(device, __func__, "ecc", numbers, 4);
    if (answer == SUCCESS)
        *out = numbers[!uncorrected ? 1 : aggregate ? 3 : 2];
    return answer;
}

nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned int *corrected,
                                       unsigned int *uncorrected, unsigned int *pending,
                                       unsigned int *failed)
{
    unsigned long long n[4];
    nvmlReturn_t answer = device_numbers(device, __func__, "rows", n, 4);
    if (answer == SUCCESS) {
        *corrected = (unsigned int)n[0], *uncorrected = (unsigned int)n[1];
        *pending = (unsigned int)n[2], *failed = (unsigned int)n[3];
    }
    return answer;
}

/* ---- NVLink: link<N> = active type version bus-id ---- */

static nvmlReturn_t link_of(nvmlDevice_t device, const char *function, unsigned int link,
                            unsigned int fields[3], char bus_id[TEXT])
{
    char what[TEXT / 2], value[TEXT];
    snprintf(what, sizeof what, "link%u", link);
    nvmlReturn_t answer = device_text(device, function, what, value);
    if (answer == SUCCESS
        && sscanf(value, "%u %u %u %31s", &fields[0], &fields[1], &fields[2], bus_id) != 4)
        return INVALID_ARGUMENT;
    return answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned int link, unsigned int *out)
{
    char bus_id[TEXT];
    unsigned int fields[3];
    nvmlReturn_t answer = link_of(device, __func__, link, fields, bus_id);
    if (answer == SUCCESS)
        *out = fields[0];
    return answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned int link, int *out)
{
    char bus_id[TEXT];
    unsigned int fields[3];
    nvmlReturn_t answer = link_of(device, __func__, link, fields, bus_id);
    if (answer == SUCCESS)
        *out = (int)fields[1];
    return answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned int link, unsigned int *out)
{
    char bus_id[TEXT];
    unsigned int fields[3];
    nvmlReturn_t answer = link_of(device, __func__, link, fields, bus_id);
    if (answer == SUCCESS)
        *out = fields[2];
    return answer;
}

nvmlReturn_t nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned int link,
                                                 nvmlPciInfo_t *out)
{
    char bus_id[TEXT];
    unsigned int fields[3];
    nvmlReturn_t answer = link_of(device, __func__, link, fields, bus_id);
    if (answer == SUCCESS)
        pci_info(bus_id, out);
    return answer;
}

/* ---- MIG: mig = current pending; mig<J>.attributes = MiB multiprocessors gpu-inst compute-inst ---- */

nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned int *current, unsigned int *pending)
{
    unsigned long long numbers[2];
    nvmlReturn_t answer = device_numbers(device, __func__, "mig", numbers, 2);
    if (answer == SUCCESS)
        *current = (unsigned int)numbers[0], *pending = (unsigned int)numbers[1];
    return answer;
}

nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t device, unsigned int *out)
{
    *out = MAX_MIGS;
    return enter(device, __func__);
}

nvmlReturn_t nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned int index,
                                                 nvmlDevice_t *out)
{
    char key[TEXT], value[TEXT];
    nvmlReturn_t answer = enter(device, __func__);
    if (answer != SUCCESS)
        return answer;
    snprintf(key, sizeof key, "gpu%d.mig%u.uuid", device->gpu, index);
    if (index >= MAX_MIGS || !find(key, value))
        return NOT_FOUND;
    *out = &devices[device->gpu][index + 1];
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t device, nvmlDeviceAttributes_t *out)
{
    unsigned long long numbers[4];
    nvmlReturn_t answer = device_numbers(device, __func__, "attributes", numbers, 4);
    if (answer != SUCCESS)
        return answer;
    memset(out, 0, sizeof *out);
    out->memorySizeMB = numbers[0];
    out->multiprocessorCount = (unsigned int)numbers[1];
    return SUCCESS;
}

nvmlReturn_t nvmlDeviceGetGpuInstanceId(nvmlDevice_t device, unsigned int *out)
{
    unsigned long long numbers[4];
    nvmlReturn_t answer = device_numbers(device, __func__, "attributes", numbers, 4);
    if (answer == SUCCESS)
        *out = (unsigned int)numbers[2];
    return answer;
}

nvmlReturn_t nvmlDeviceGetComputeInstanceId(nvmlDevice_t device, unsigned int *out)
{
    unsigned long long numbers[4];
    nvmlReturn_t answer = device_numbers(device, __func__, "attributes", numbers, 4);
    if (answer == SUCCESS)
        *out = (unsigned int)numbers[3];
    return answer;
}

/* ---- XID events: xids = numbers; each is told once ---- */

nvmlReturn_t nvmlEventSetCreate(void **out)
{
    if (!initialised)
        return UNINITIALIZED;
    memset(watched, 0, sizeof watched);
    *out = watched;
    return SUCCESS;
}

nvmlReturn_t nvmlEventSetFree(void *set)
{
    return set == watched ? SUCCESS : INVALID_ARGUMENT;
}

nvmlReturn_t nvmlDeviceRegisterEvents(nvmlDevice_t device, unsigned long long types, void *set)
{
    char value[TEXT];
    nvmlReturn_t answer = device_text(device, __func__, "xids", value);
    if (set != watched || types != 8)
        return INVALID_ARGUMENT;
    if (answer == SUCCESS)
        watched[device->gpu] = 1;
    return answer;
}

nvmlReturn_t nvmlEventSetWait_v2(void *set, nvmlEventData_t *out, unsigned int timeout_ms)
{
    (void)timeout_ms;
    if (set != watched)
        return INVALID_ARGUMENT;
    for (int gpu = 0; gpu < MAX_GPUS; gpu++) {
        char value[TEXT], *rest = value, *end = value;
        unsigned long long xid = 0;
        int told = 0;
        if (!watched[gpu])
            continue;
        nvmlReturn_t answer = device_text(&devices[gpu][0], __func__, "xids", value);
        if (answer != SUCCESS)
            return answer;
        for (; told <= xids_told[gpu]; told++, rest = end) {
            xid = strtoull(rest, &end, 10);
            if (end == rest)
                break;
        }
        if (told > xids_told[gpu]) {
            xids_told[gpu] = told;
            *out = (nvmlEventData_t){&devices[gpu][0], 8, xid, 0, 0};
            return SUCCESS;
        }
    }
    return TIMEOUT;
}
