/** Uses the generated client as an app would, and prints the decoded values as one line of JSON. */
import client.apis.AuthApi
import client.apis.PaymentsApi
import client.apis.PostsApi
import client.infrastructure.ApiClient
import client.infrastructure.ClientError
import client.infrastructure.ClientException
import client.infrastructure.Serializer
import client.models.DeletionBlocked
import client.models.PostAuthDeleteAccountRequest
import client.models.PostAuthLoginRequest
import client.models.PostPaymentsStorePurchasesRequest
import client.models.ValidationError

/** The body of an expected error. */
inline fun <reified T> errorOf(status: Int, call: () -> Unit): T {
    try {
        call()
    } catch (error: ClientException) {
        check(error.statusCode == status) { "expected $status, got ${error.statusCode}" }
        val body = (error.response as ClientError<*>).body as String
        return checkNotNull(Serializer.moshi.adapter(T::class.java).fromJson(body))
    }
    throw IllegalStateException("expected $status")
}

@Suppress("UNCHECKED_CAST")
fun normalized(value: Any?): Any? = when (value) {
    is Map<*, *> -> value.filterValues { it != null }.mapValues { normalized(it.value) }
    is List<*> -> value.map(::normalized)
    // The generated client encodes decimals as strings.
    is Number -> value.toString()
    else -> value
}

/** Decodes each response in a file by its operation's return type, encodes it again, and prints the differences. */
fun decodeAll(file: String) {
    val any = Serializer.moshi.adapter(Any::class.java)
    val successes = any.fromJson(java.io.File(file).readText()) as List<Map<String, Any?>>
    val problems = successes.mapNotNull { success ->
        val name = success["operationId"]
        val method = Class.forName("client.apis.${success["api"]}").methods.first { it.name == name }
        val adapter = Serializer.moshi.adapter<Any>(method.genericReturnType)
        val body = success["body"]
        try {
            val encoded = adapter.toJson(adapter.fromJson(any.toJson(body)))
            if (normalized(any.fromJson(encoded)) == normalized(body)) null else "$name ${success["status"]}: $encoded"
        } catch (error: Exception) {
            "$name ${success["status"]}: $error"
        }
    }
    println(any.toJson(mapOf("decoded" to successes.size, "problems" to problems)))
}

fun main(args: Array<String>) {
    if (args[0] == "decode") return decodeAll(args[1])
    val (baseUrl, login, password, purchaseToken) = args
    val auth = AuthApi(baseUrl)
    val payments = PaymentsApi(baseUrl)

    val invalid = errorOf<ValidationError>(422) { auth.postAuthLogin(PostAuthLoginRequest(login, "not-the-password")) }
    val signedIn = auth.postAuthLogin(PostAuthLoginRequest(login, password))
    ApiClient.accessToken = signedIn.token
    val posts = PostsApi(baseUrl).getPosts(perPage = 5)
    val history = payments.getPayments()
    val grant = payments.postPaymentsStorePurchases(
        PostPaymentsStorePurchasesRequest(
            PostPaymentsStorePurchasesRequest.Channel.cafebazaar, "premium_plus", purchaseToken,
        ),
    ).data
    val blocked = errorOf<DeletionBlocked>(409) { auth.postAuthDeleteAccount(PostAuthDeleteAccountRequest(password)) }

    val report = mapOf(
        "userId" to signedIn.user.id,
        "posts" to posts.data.map { it.id },
        "payments" to history.data.map { mapOf("type" to it.type, "amount" to it.amount, "chargedRial" to it.meta?.chargedRial) },
        "grant" to mapOf("userId" to grant.userId, "type" to grant.type),
        "blockers" to blocked.blockers.map { mapOf("code" to it.code, "balance" to it.balance) },
        "invalid" to invalid.errors.keys.toList(),
    )
    println(Serializer.moshi.adapter(Any::class.java).toJson(report))
}
